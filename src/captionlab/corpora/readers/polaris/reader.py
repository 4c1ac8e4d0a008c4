"""Polaris (Wada et al. 2024): images with references, in the files of its judgements.

A row of `polaris_test.csv` has the file of an image (`imgid`), a judged caption (`mt`), the references of the image as
a list in Python's notation (`refs`) and the rating (`score`). Source: `validate/dataset.py` of keio-smilab24/Polos.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place
from captionlab.userfiles.delimited import delimited
from captionlab.userfiles.ids import file_id
from captionlab.userfiles.reading import whole_lines

COLUMNS = ("imgid", "mt", "refs", "score")


@dataclass(frozen=True)
class PolarisRow:
    """A judged caption: its place in the file, its image, the references of the image, and the rating as text."""

    where: str
    file_name: str
    caption: str
    references: list[str]
    score: str


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of all rows, in the split test, with the references of all rows about the image.

    Repeated references of an image are kept once. An image is known by its path without ending.
    """
    references: dict[str, dict[str, None]] = {}
    files: dict[str, str] = {}
    for row in polaris_rows(root / config["annotations"]):
        image_id = file_id(row.file_name)
        references.setdefault(image_id, {}).update(dict.fromkeys(row.references))
        files[image_id] = row.file_name
    for image_id, texts in references.items():
        yield Entry(image_id, "test", image_place(config, root, files[image_id]), [*texts])


def polaris_rows(file: Path) -> Iterator[PolarisRow]:
    """Yield the rows of a file. Raises CorpusError if a column or a value is missing, or references are no list."""
    header, rows = delimited(file, whole_lines(file), COLUMNS)
    if missing := [column for column in COLUMNS if column not in header]:
        raise CorpusError(f"{file}, line 1: the header has no column {', '.join(missing)}; get the file again")
    for where, row in rows:
        texts = {column: (row[column] or "").strip() for column in COLUMNS}
        if empty := [column for column, text in texts.items() if not text]:
            raise CorpusError(f"{where}: {empty[0]} is empty; get the file again, or delete the row")
        yield PolarisRow(where, texts["imgid"], texts["mt"], _listed(texts["refs"], where), texts["score"])


def _listed(text: str, where: str) -> list[str]:
    """Return the texts of a list in Python's notation."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise CorpusError(f"{where}: refs is {text[:60]!r}; it must be a list of texts, as ['a dog', 'a brown dog']")
    return found
