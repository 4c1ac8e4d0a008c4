"""Conceptual Captions."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place
from captionlab.userfiles.reading import text_lines


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of Conceptual Captions, which has one file per split with lines of caption, tab, URL.

    The image of row r (from 0) is `{r:08d}.jpg` in the folder of its split, or the file in an optional third column.
    Raises CorpusError if a line does not have two or three columns.
    """
    expected = "caption, tab, URL and perhaps tab, file of the image"
    for split, name in config["annotations"].items():
        for row, (where, line) in enumerate(text_lines(root / name)):
            columns = line.split("\t")
            if len(columns) not in (2, 3):
                raise CorpusError(f"{where} has {len(columns)} columns; the reader expects {expected}")
            file = columns[2] if len(columns) == 3 else f"{row:08d}.jpg"
            yield Entry(f"{split}/{row:08d}", split, image_place(config, root, file, split), [columns[0]])
