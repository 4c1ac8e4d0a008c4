"""Nebula (Matsuda et al. 2024, DENEB): captions of many kinds of images, each with a rating by people."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.judgements.readers.entries import Described, Rated
from captionlab.judgements.readers.hub import rated_rows


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Rated]:
    """Yield the caption (`mt`) of each row of the splits with its rating (`human_score`), as it is scaled in the files.

    Who wrote a caption is not published. Raises CorpusError if a split has no file, or a file lacks a column or value.
    """
    yield from rated_rows(root / config["folder"], config["splits"], "mt", "human_score", corpus)
