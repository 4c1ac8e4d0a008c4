"""Captions of the birds of CUB-200-2011 (Wah et al. 2011), ten of each image (Reed et al. 2016).

`images.txt` has the number and the path of an image in each line, `train_test_split.txt` its number and 1 (training) or
0. The folder `text_c10` of the captions has the text file `{class}/{image}.txt` for the image `{class}/{image}.jpg`, a
caption in each line. Sources: README of CUB-200-2011; README of reedscot/cvpr2016, which links the captions.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, image_place
from captionlab.userfiles.ids import file_id
from captionlab.userfiles.reading import text_lines

# Values of `train_test_split.txt`.
SPLITS = {"1": "train", "0": "test"}


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the images of CUB-200-2011 in the splits train and test, each with the lines of its text file as captions.

    An image is known by its path without ending. An image without a text file has no captions and becomes a reject.
    Raises CorpusError if a line is malformed or if an image has no split.
    """
    splits = {}
    for where, number, value in _pairs(root / config["splits"]):
        if value not in SPLITS:
            raise CorpusError(
                f"{where}: the split of the image {number} is {value!r}; it must be 1 (train) or 0 (test)"
            )
        splits[number] = SPLITS[value]
    for where, number, name in _pairs(root / config["annotations"]):
        if number not in splits:
            raise CorpusError(f"{where}: the image {number} has no line in {root / config['splits']}; add its split")
        texts = root / config["captions"] / Path(name).with_suffix(".txt")
        captions = [line for _, line in text_lines(texts)] if texts.is_file() else []
        yield Entry(file_id(name), splits[number], image_place(config, root, name), captions)


def _pairs(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the position and the two values of each line that is not blank."""
    for where, line in text_lines(file):
        if not line.strip():
            continue
        number, _, value = line.strip().partition(" ")
        if not number.isdecimal() or not value.strip():
            raise CorpusError(f"{where} is {line[:60]!r}; the reader expects the number of an image, a space, a value")
        yield where, number, value.strip()
