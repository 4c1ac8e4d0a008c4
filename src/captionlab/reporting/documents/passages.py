"""Texts with tables of which Markdown documents consist. passages.md.jinja shows them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Passage:
    """A text in Markdown, perhaps below a title, then perhaps a table. Columns with the headings `numeric` are numbers.

    The text or the rows may be empty. Headings and cells become text that Markdown shows unchanged.
    """

    text: str
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    numeric: Collection[str] = ()
    title: str = ""
