"""Composite (Aditya et al. 2018): captions of Flickr8k, Flickr30k or COCO that crowd workers rated from 1 to 5."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.judgements.readers.entries import Described, Rated
from captionlab.userfiles.delimited import delimited
from captionlab.userfiles.ids import known_id
from captionlab.userfiles.reading import whole_lines

# Columns as in the code of users of the files (docs/fidelity.md). Flickr30k and COCO have a fourth caption, which the
# 11,985 judgements of the literature leave out.
IMAGE = "Input.image_url"
RATING_OF = {f"Input.text{n}": f"Answer.Q{n}Answer" for n in (1, 2, 3)}
COLUMNS = (IMAGE, *RATING_OF, *RATING_OF.values())
SCALE = (1, 2, 3, 4, 5)


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Rated]:
    """Yield the first three captions of each row, each with the rating of one worker.

    One caption of a row is by a person, the others are by systems. A caption with the words of a reference of its image
    is by a person. It gets the spelling of the reference, so that the reference is known as judged. Rows without an
    image, with which the files end, are skipped. Raises CorpusError if the header lacks a column, or if a row lacks a
    caption or has a rating other than 1 to 5.
    """
    file = root / config["annotations"]
    header, rows = delimited(file, whole_lines(file), COLUMNS)
    if missing := [column for column in COLUMNS if column not in header]:
        raise CorpusError(f"{file}, line 1: the header has no column {', '.join(missing)}; get the file again")
    for where, row in rows:
        if not (address := _text(row[IMAGE])):
            continue
        image_id = known_id(PurePosixPath(address).name, corpus.splits) or address
        for caption_column, rating_column in RATING_OF.items():
            if not (caption := _text(row[caption_column])):
                raise CorpusError(f"{where}: {caption_column} is empty; get the file again, or delete the row")
            rating = _rating(row[rating_column], f"{where}: {rating_column}")
            reference = _as_reference(caption, corpus.references.get(image_id, ()))
            source = "a system" if reference is None else "a person"
            yield Rated(image_id, reference or caption, {"worker": rating}, source)


def _text(field: str | None) -> str:
    """Return a field without spaces around it. A field that the row lacks is empty."""
    return (field or "").strip()


def _rating(field: str | None, where: str) -> float:
    text = _text(field)
    try:
        rating = float(text)
    except ValueError:
        rating = 0.0
    if rating not in SCALE:
        raise CorpusError(f"{where} is {text!r}; workers give 1, 2, 3, 4 or 5")
    return rating


def _as_reference(caption: str, references: Sequence[str]) -> str | None:
    """Return the first reference with the same words, whatever their case and punctuation; None if there is none."""
    return next((text for text in references if _words(text) == _words(caption)), None)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
