"""Messages that ask a model to compare two captions, and its answers.

Captions and references are data: they stand as JSON in blocks that their texts cannot end.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import StrictUndefined, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment
from jsonschema import Draft202012Validator

from captionlab.comparisons.schemas import FIRST, SECOND, TIE

# Follows every prompt.
FORMAT = (
    'Answer with a JSON object and nothing else: {"reason": "...", "answer": "..."}. The reason is one short sentence, '
    'and the answer is "first", "second", or "tie" if neither caption is better.'
)
# JSON Schema of an answer, and the parameter of a request that asks a server for it.
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "answer": {"type": "string", "enum": [FIRST, SECOND, TIE]}},
    "required": ["reason", "answer"],
    "additionalProperties": False,
}
RESPONSE_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA},
}
# Follows an answer of another form.
AGAIN = f"This is not the JSON object. {FORMAT}"
_VARIABLES = {"captions", "references"}
_FENCED = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)


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
            "captions": data_block("captions", {"first": first, "second": second}),
            "references": data_block("references", list(references)) if references else "",
        }
        try:
            message = self.template.render(blocks)
        except (TemplateError, TypeError, ValueError) as error:
            raise PromptError(f"{self.path} cannot be filled: {error}; correct it") from None
        return f"{message.strip()}\n\n{FORMAT}"


class Verdict(NamedTuple):
    """A verdict: the answer, None if there is none, and its reason."""

    answer: str | None
    reason: str | None


def data_block(name: str, data: Mapping[str, str] | Sequence[str]) -> str:
    """Return data as JSON between the marks <name> and </name>. No text in the data can end the block."""
    content = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<{name}>\n{content}\n</{name}>"


def read_verdict(text: str) -> Verdict | None:
    """Return the verdict in the answer of a model; None if the answer is not the JSON object that was asked for.

    A Markdown fence around the object is allowed.
    """
    fenced = _FENCED.fullmatch(text.strip())
    try:
        answer = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        return None
    if not Draft202012Validator(SCHEMA).is_valid(answer):
        return None
    return Verdict(answer["answer"], " ".join(answer["reason"].split()))
