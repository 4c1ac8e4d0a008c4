"""Messages that ask a model to compare two captions, and its answers.

Captions and references are data: they stand as JSON in blocks that their texts cannot end.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import StrictUndefined, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from captionlab.comparisons.schemas import FIRST, SECOND, TIE
from captionlab.served.forms import DATA_NOTE, data_block, object_schema
from captionlab.served.reading import Reading

# Follows every prompt.
FORMAT = (
    'Answer with a JSON object and nothing else: {"reason": "...", "answer": "..."}. The reason is one short sentence, '
    'and the answer is "first", "second", or "tie" if neither caption is better.'
)
# JSON Schema of an answer.
SCHEMA = object_schema(reason={"type": "string"}, answer={"type": "string", "enum": [FIRST, SECOND, TIE]})
_VARIABLES = {"captions", "references"}


class PromptError(ValueError):
    """The template of a prompt cannot be used."""


class Prompt:
    """The template of the message that asks for a comparison."""

    def __init__(self, path: str | Path):
        """Read a template. Raises PromptError, which names the file, if it cannot be used."""
        self.path = Path(path)
        environment = SandboxedEnvironment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        try:
            text = self.path.read_text(encoding="utf-8")
            variables = meta.find_undeclared_variables(environment.parse(text))
            self.template = environment.from_string(text)
        except (TemplateError, UnicodeDecodeError) as error:
            raise PromptError(f"{path} is no Jinja template in UTF-8: {error}; correct it") from None
        if unknown := sorted(variables - _VARIABLES):
            raise PromptError(f"{path} has the variable {unknown[0]!r}; there are {' and '.join(sorted(_VARIABLES))}")
        if "captions" not in variables:
            raise PromptError(f"{path} has no {{{{ captions }}}}, where the two captions belong; add it")

    def text(self, first: str, second: str, references: Sequence[str]) -> str:
        """Return the message about two captions, with references if there are any.

        Raises PromptError, which names the file, if the template fails.
        """
        blocks = {
            "captions": data_block({"first": first, "second": second}),
            "references": data_block(list(references)) if references else "",
        }
        try:
            message = self.template.render(blocks)
        except (TemplateError, TypeError, ValueError) as error:
            raise PromptError(f"{self.path} cannot be filled: {error}; correct it") from None
        return f"{DATA_NOTE}\n\n{message.strip()}\n\n{FORMAT}"


class Verdict(NamedTuple):
    """A verdict: the answer, None if there is none, and its reason."""

    answer: str | None
    reason: str | None


def read_verdict(answer: Reading[dict[str, Any]]) -> Verdict:
    """Return the verdict of an answer; without an answer, the reason says why."""
    if answer.value is None:
        return Verdict(None, answer.fault)
    return Verdict(answer.value["answer"], " ".join(answer.value["reason"].split()))
