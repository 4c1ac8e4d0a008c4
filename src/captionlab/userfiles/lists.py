"""Captions that are lists written as text, as tables of other programs have them."""

import json
import re
from ast import literal_eval

from captionlab.jobs.progress import count

# A text as Python writes it, and a list of texts and missing values; NumPy puts only white space between them.
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ITEM = rf"(?:{_TEXT}|None|nan)"
_LIST = re.compile(rf"\[\s*{_ITEM}(?:(?:\s*,\s*|\s+){_ITEM})*\s*,?\s*\]", re.DOTALL)


def listed_texts(text: str) -> list[str]:
    """Return the texts of a list that is written as text by Python, NumPy or JSON; any other text is returned alone.

    Lists are counted for the job's log, and so are texts that begin like a list of texts and are none.
    """
    bare = text.strip()
    if not (bare.startswith("[") and bare.endswith("]")):
        return [text]
    texts = _texts(bare)
    if texts is None:
        if bare[1:].lstrip()[:1] in ("'", '"'):
            count("captions that begin like a list and are none, kept as they are")
        return [text]
    count("captions that are lists written as text, read as lists of captions")
    return texts


def _texts(bare: str) -> list[str] | None:
    """Return the texts of a list without missing values, or None if this is no list of texts."""
    try:
        items = json.loads(bare)
    except (ValueError, RecursionError):
        items = None
    if isinstance(items, list):
        texts = [item for item in items if item is not None]
        return texts if all(isinstance(item, str) for item in texts) else None
    if not _LIST.fullmatch(bare):
        return None
    try:
        return [literal_eval(item) for item in re.findall(_TEXT, bare, re.DOTALL)]
    except (ValueError, SyntaxError):  # for example \x without digits
        return None
