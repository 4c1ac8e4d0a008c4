"""Questions to judges: Jinja templates in which every text is data.

A text that a template prints becomes a block `<data>...</data>` with the text as JSON. Angle brackets in the JSON are
escaped, so no text can end its block. A sentence before the question says that blocks are data. What is outside of
blocks is the same for all captions, unless the template of a user branches on a caption.
"""

from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, meta
from jinja2.sandbox import SandboxedEnvironment

from captionlab.served.forms import DATA_NOTE, data_block

# Names that a template may use.
CAPTION, REFERENCES = "caption", "references"


class TemplateMistake(ValueError):
    """A template of a user is no template, or uses a name that it may not use."""


def as_data(value: Any) -> Any:
    """Return a text or a list as a block of data; any other value, such as a number, as it is."""
    return data_block(value) if isinstance(value, str | list | tuple) else value


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
        names = meta.find_undeclared_variables(_ENVIRONMENT.parse(source))
        template = _ENVIRONMENT.from_string(source)
    except UnicodeDecodeError as error:
        raise TemplateMistake(f"{file} is no text in UTF-8: {error}") from error
    except TemplateError as error:
        raise TemplateMistake(f"{file} is no Jinja template: {error}") from error
    if CAPTION not in names:
        raise TemplateMistake(f"{file} does not show the caption; write {{{{ caption }}}} where it is to stand")
    if REFERENCES in names and not references:
        raise TemplateMistake(f"{file} uses references, so the judge needs `references: true`")
    if unknown := sorted(names - {CAPTION, REFERENCES}):
        raise TemplateMistake(f"{file} uses {unknown[0]!r}; there are {CAPTION} and {REFERENCES}")
    return template


def question(template: Template, caption: str, references: list[str], end: str = "") -> str:
    """Return the question about a caption, after the note on data and before `end`.

    Raises TemplateMistake if the template cannot be filled in.
    """
    try:
        text = template.render(caption=caption, references=references)
    except (TemplateError, TypeError, ValueError) as error:
        raise TemplateMistake(f"the template of a judge cannot be filled in: {error}") from error
    return "\n\n".join(filter(None, (DATA_NOTE, text.strip("\n"), end)))
