"""Image ids in files that people wrote: as numbers, as texts, or as names of image files."""

import re
from collections.abc import Container, Iterator
from decimal import Decimal
from numbers import Integral
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any

from captionlab.userfiles.reading import GivenError

# Up to this number a float holds every whole number.
_LARGEST = 2**53
# A whole float as pandas writes it into a text.
_WHOLE = re.compile(r"-?\d+\.0+")
# An ending of a file. It begins with a letter, so that 1.5 has no ending.
_ENDING = re.compile(r"\.[A-Za-z]\w*$")
# The name of an image file of COCO without its ending, of the release of 2014 or of 2017.
_COCO = re.compile(r"(?:COCO_\w+_)?(\d{12})", re.IGNORECASE)
# The name of an image of AMBER.
_AMBER = re.compile(r"AMBER_(\d+)")


def id_text(value: Any, where: str) -> str | None:
    """Return the id that a field of a file holds, as text, or None if the field is null or empty.

    Numbers and texts are the same id: 42, 42.0, "42", "42.0" and " 42 " become "42". Zeros at the beginning stay, so
    "042" is another id. Raises GivenError, which begins with the position `where`, if the value is neither a text nor a
    whole number, or a float that is too large for its last digits to be known.
    """
    if value is None or value != value:  # pandas writes NaN for a value that is missing
        return None
    if isinstance(value, str):
        text = value.strip()
        return (text.partition(".")[0] if _WHOLE.fullmatch(text) else text) or None
    if isinstance(value, bool) or not isinstance(value, Integral | float | Decimal) or value % 1:
        raise GivenError(f"{where} is {str(value)[:40]!r}; an id is a text or a whole number")
    if isinstance(value, float) and abs(value) > _LARGEST:
        raise GivenError(f"{where} is {value!r}, a float too large to hold an id; write ids as texts")
    return str(int(value))


def file_id(name: str) -> str:
    """Return the id of an image that is known by its file: the path without its ending.

    "./a.jpg" becomes "a", and "sea/1.jpg" becomes "sea/1". A path that begins with / depends on a machine, so its id is
    the name of the file alone. An empty name gives an empty id.
    """
    path = normpath(name)
    return _ENDING.sub("", "" if path == "." else path.rpartition("/")[2] if path.startswith("/") else path)


def coco_number(name: str) -> str | None:
    """Return the COCO number in the name of an image file of COCO, or None if the name is not of this form."""
    number = _COCO.fullmatch(PurePosixPath(name).name.partition(".")[0])
    return str(int(number[1])) if number else None


def known_id(name: str, known: Container[str]) -> str | None:
    """Return the id among `known` that a name in a file stands for, or None.

    The name is an id, or the path of an image file, perhaps with a second ending (a.jpg.npz). An id as it is comes
    first, then the path without endings, then the number in the name of a file of COCO or AMBER. The name of the file
    alone does not stand for an id if the path has folders, because files in other folders may have the same name.
    """
    return next((candidate for candidate in _candidates(name) if candidate in known), None)


def _candidates(name: str) -> Iterator[str]:
    """Yield the ids that a name in a file may stand for, the most literal first."""
    yield name
    path = normpath(name)
    yield path
    while (shorter := _ENDING.sub("", path)) != path:
        yield shorter
        path = shorter
    if number := coco_number(path):
        yield number
    if amber := _AMBER.fullmatch(PurePosixPath(path).name):
        yield amber[1]
