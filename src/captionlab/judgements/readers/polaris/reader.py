"""Polaris (Wada et al. 2024): captions by people and by ten systems, each with the rating of a person."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.polaris.reader import polaris_rows
from captionlab.judgements.readers.entries import Described, Rated, rating_of


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Rated]:
    """Yield the caption of each row with its rating, as it is scaled in the file, in the order of the file.

    Who wrote a caption is not published. Raises CorpusError if a row lacks a value or a rating is no number.
    """
    for row in polaris_rows(root / config["annotations"]):
        yield Rated(row.file_name, row.caption, {"evaluator": rating_of(row.score, f"{row.where}: score")})
