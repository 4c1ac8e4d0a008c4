"""Ratings of captions in Parquet files as the Hugging Face hub has them, a row for each rating."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.huggingface.reader import split_of
from captionlab.judgements.readers.entries import Described, Rated, rating_of
from captionlab.userfiles.ids import known_id

IMAGE = "file_name"


def rated_rows(folder: Path, splits: Sequence[str], caption: str, score: str, corpus: Described) -> Iterator[Rated]:
    """Yield the caption of each row of the splits, with the rating in the column `score`.

    The names of the files tell their splits, as `data/test-00000-of-00002.parquet`. The column `file_name` has the file
    of the image. If the corpus has no such image, the id of the image is the split, a slash and the name, as the key
    `split_in_id` of a corpus makes it. Raises CorpusError if a split has no file, or a file lacks a column or a value.
    """
    files = {path: split_of(path.relative_to(folder)) for path in sorted(folder.rglob("*.parquet"))}
    if missing := [split for split in splits if split not in files.values()]:
        there = ", ".join(sorted({*files.values()})) or "none"
        raise CorpusError(f"{folder} has no Parquet file of the split {missing[0]!r}; there are {there}")
    for path, split in files.items():
        if split in splits:
            for number, (name, text, rating) in enumerate(_rows(path, [IMAGE, caption, score])):
                where = f"{path}, row {number}"
                if not isinstance(name, str) or not isinstance(text, str):
                    raise CorpusError(f"{where}: {IMAGE} and {caption} must be texts, found {name!r} and {text!r}")
                image = name if known_id(name, corpus.splits) is not None else f"{split}/{name}"
                yield Rated(image, text, {"evaluator": rating_of(rating, f"{where}: {score}")})


def _rows(path: Path, columns: list[str]) -> Iterator[tuple[object, ...]]:
    """Yield the values of columns of a Parquet file, row by row."""
    try:
        names = pq.read_schema(path).names
        if missing := [column for column in columns if column not in names]:
            raise CorpusError(f"{path} has no column {missing[0]!r}; it has {', '.join(names)}")
        table = pq.read_table(path, columns=columns)
    except pa.ArrowInvalid as error:
        raise CorpusError(f"{path} is no whole Parquet file ({str(error)[:100]}); fetch it again") from error
    yield from zip(*(table[column].to_pylist() for column in columns), strict=True)
