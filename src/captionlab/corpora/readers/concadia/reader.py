"""Concadia."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.entries import Entry, image_place, records, take
from captionlab.userfiles.ids import file_id
from captionlab.userfiles.reading import read_json

# The experiments on discriminative finetuning cut the texts to this number of characters.
CHARACTERS = 200


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of Concadia, which has Wikipedia images with a caption and a description each.

    The key `text` of the config selects caption or description. The text is cut to 200 characters, as in the code of
    Dessì et al. (2023), who fed it to CLIP. Raises CorpusError if a record is malformed.
    """
    file, text = root / config["annotations"], config["text"]
    expected = f'{{"images": [{{"filename", "split", "{text}": {{"raw"}}}}]}}'
    for where, image in records(read_json(file, without=("tokens", "context")), "images", file, expected):
        name = take(image, "filename", str, where, expected)
        raw = take(take(image, text, dict, where, expected), "raw", str, f"{where}.{text}", expected)
        split = take(image, "split", str, where, expected)
        yield Entry(file_id(name), split, image_place(config, root, name), [raw[:CHARACTERS]])
