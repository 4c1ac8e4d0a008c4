"""The reference in docs/api.md, made from the signatures and docstrings of the public names.

`python docs/api.py` writes it again, between the lines `<!-- reference -->` and `<!-- end -->`.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import captionlab
from captionlab.library.captioner import ImageCaptioner
from captionlab.library.intervals import Interval
from captionlab.library.retrieval import Retrieval
from captionlab.library.rewards import CaptionReward
from captionlab.library.runs import Run
from captionlab.scoring.scores import Options

PAGE = Path(__file__).parent / "api.md"
_REFERENCE = re.compile(r"(<!-- reference -->\n).*?(<!-- end -->)", re.DOTALL)
# What functions take or return; each follows the function.
CLASSES = {
    "compare": Options,
    "open_run": Run,
    "intervals": Interval,
    "retrieve": Retrieval,
    "load_captioner": ImageCaptioner,
    "load_reward": CaptionReward,
}
# In the order of the page.
NAMES = ("score", "compare", "open_run", "intervals", "retrieve", "load_captioner", "load_reward")
WIDTH = 110


def reference() -> str:
    """Return the Markdown of the reference: functions, and the classes of the objects that they take or return."""
    parts = []
    for name in NAMES:
        function = getattr(captionlab, name)
        parts += [f"### captionlab.{name}", _described(function, f"captionlab.{name}")]
        if name in CLASSES:
            parts += [f"### {CLASSES[name].__name__}", *_class(CLASSES[name])]
    return "\n" + "\n\n".join(parts) + "\n\n"


def with_reference(text: str) -> str:
    """Return the text of the page with its reference written anew."""
    return _REFERENCE.sub(lambda match: match[1] + reference() + match[2], text)


def _class(kind: Any) -> Iterator[str]:
    """Yield the docstring of a class, its fields, and its public methods and properties in the order of the source."""
    yield inspect.getdoc(kind) or ""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    if fields := list(_fields(tree)):
        yield "\n".join(fields)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or (node.name.startswith("_") and node.name != "__call__"):
            continue
        member, name = inspect.getattr_static(kind, node.name), node.name.replace("__call__", "")
        owner = kind.__name__.lower().removeprefix("image").removeprefix("caption") or kind.__name__.lower()
        if isinstance(member, property):
            yield f"#### {kind.__name__}.{name}\n\n{inspect.getdoc(member)}"
        else:
            shown = f"{owner}.{name}" if name else owner
            yield f"#### {kind.__name__}.{node.name}\n\n{_described(member, shown)}"


def _fields(tree: ast.ClassDef) -> Iterator[str]:
    """Yield a list item for each public field with a meaning below it."""
    for field, meaning in zip(tree.body, tree.body[1:], strict=False):
        described = isinstance(meaning, ast.Expr) and isinstance(meaning.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and described and "init=False" not in ast.unparse(field):
            yield f"* `{ast.unparse(field.target)}`: {' '.join(str(meaning.value.value).split())}"


def _described(function: Any, name: str) -> str:
    return f"```python\n{signature(function, name)}\n```\n\n{inspect.getdoc(function)}"


def signature(function: Any, name: str) -> str:
    """Return the signature of a function as its source has it, on one line if it fits."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    assert tree.returns is not None
    returned = ast.unparse(tree.returns).strip("'")
    parameters = list(_parameters(tree.args))
    whole = f"{name}({', '.join(parameters)}) -> {returned}"
    return (
        whole
        if len(whole) <= WIDTH
        else "\n".join([f"{name}(", *(f"    {parameter}," for parameter in parameters), f") -> {returned}"])
    )


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    """Yield the parameters of a function without self, with types and defaults."""
    missing = [None] * (len(arguments.args) - len(arguments.defaults))
    for argument, default in zip(arguments.args, [*missing, *arguments.defaults], strict=True):
        if argument.arg != "self":
            yield _parameter(argument, default)
    if arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, default)
    if arguments.kwarg:
        yield f"**{_parameter(arguments.kwarg, None)}"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    """Return a parameter, without the quotes around a type that is imported for type checkers only."""
    text = re.sub(r": '([^']+)'", r": \1", ast.unparse(argument))
    return text if default is None else f"{text} = {ast.unparse(default)}"


if __name__ == "__main__":
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
