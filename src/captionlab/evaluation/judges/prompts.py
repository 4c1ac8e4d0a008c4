"""Questions to judges: Jinja templates in which every text is data.

A text, list or mapping that a template prints becomes a block `<data>...</data>` with its JSON. Angle brackets in the
JSON are escaped, so no text can end its block. A sentence before the question says that blocks are data. What is
outside of blocks is the same for all captions, except numbers, and unless the template of a user branches on a caption.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, Undefined, meta, nodes
from jinja2.sandbox import SandboxedEnvironment

from captionlab.served.forms import DATA_NOTE, data_block

# Names that a template may use.
CAPTION, REFERENCES = "caption", "references"
# Tags that work on printed text, which has blocks already.
_REFUSED: dict[type[nodes.Node], str] = {
    nodes.Macro: "macro",
    nodes.CallBlock: "call",
    nodes.FilterBlock: "filter",
    nodes.AssignBlock: "set",
    nodes.ScopedEvalContextModifier: "autoescape",
}


class TemplateMistake(ValueError):
    """A template of a user is no template, or uses a name that it may not use."""


def as_data(value: Any) -> Any:
    """Return a text, list or mapping as a block of data; a number, true, false and none as they are.

    An undefined value is returned too, because jinja2 refuses to print it, by its name. Raises TemplateMistake for any
    other value, such as a generator.
    """
    if isinstance(value, str | list | tuple | Mapping):
        return data_block(value)
    if value is None or isinstance(value, int | float | Undefined):
        return value
    raise TemplateMistake(
        f"it prints a {type(value).__name__}; print texts, numbers, lists and mappings alone (`| list` makes a list)"
    )


_ENVIRONMENT = SandboxedEnvironment(finalize=as_data, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


def shipped_template(name: str) -> Template:
    """Return a template of this package. Write the name as a literal: fingerprints of code then see the template."""
    return _ENVIRONMENT.from_string((Path(__file__).parent / "templates" / name).read_text(encoding="utf-8"))


def user_template(file: str, references: bool) -> Template:
    """Return the template in a file. Raises TemplateMistake, which names the file.

    A template must use the caption, and may use references if `references` says so.
    """
    try:
        source = Path(file).read_text(encoding="utf-8")
        tree = _ENVIRONMENT.parse(source)
        names = meta.find_undeclared_variables(tree)
        code = _ENVIRONMENT.compile(source, name=file)
    except UnicodeDecodeError as error:
        raise TemplateMistake(f"{file} is no text in UTF-8: {error}") from error
    except TemplateError as error:
        raise TemplateMistake(f"{file} is no Jinja template: {error}") from error
    if refused := next(tree.find_all(tuple(_REFUSED)), None):
        tag = _REFUSED[type(refused)]
        raise TemplateMistake(f"{file} has a block {{% {tag} %}} in line {refused.lineno}; write its text without it")
    if CAPTION not in names:
        raise TemplateMistake(f"{file} does not show the caption; write {{{{ caption }}}} where it is to stand")
    if REFERENCES in names and not references:
        raise TemplateMistake(f"{file} uses references, so the judge needs `references: true`")
    if unknown := sorted(names - {CAPTION, REFERENCES}):
        raise TemplateMistake(f"{file} uses {unknown[0]!r}; there are {CAPTION} and {REFERENCES}")
    return Template.from_code(_ENVIRONMENT, code, _ENVIRONMENT.make_globals(None))


def question(template: Template, caption: str, references: list[str], end: str = "") -> str:
    """Return the question about a caption, after the note on data and before `end`.

    Raises TemplateMistake, which names the file of a user, if the template cannot be filled in.
    """
    try:
        text = template.render(caption=caption, references=references)
    except (TemplateError, TypeError, ValueError) as error:
        raise TemplateMistake(f"{template.name or 'the template of a judge'} cannot be filled in: {error}") from error
    return "\n\n".join(filter(None, (DATA_NOTE, text.strip("\n"), end)))
