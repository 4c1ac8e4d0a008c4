"""Concadia."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.entries import Entry, image_place, records, take
from captionlab.declarations import CorpusReader
from captionlab.given import read_json

DECLARATION = CorpusReader(
    keys={
        "annotations": {"$ref": "#/$defs/path", "description": "the file that it reads"},
        "images": {"$ref": "#/$defs/folder"},
        "text": {"enum": ["caption", "description"]},
    },
    required=("annotations", "images", "text"),
    files=("annotations",),
    scenes=False,
    undescribed=False,
    libraries=(),
)
# Its texts are cut to so many characters in the experiments on discriminative finetuning.
CHARACTERS = 200


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Concadia: images of Wikipedia with a caption and a description; `text` says which of the two to read.

    The text is cut to 200 characters, as in the code of Dessì et al. (2023), for they fed it to CLIP.
    """
    file, text = root / config["annotations"], config["text"]
    expected = f'{{"images": [{{"filename", "split", "{text}": {{"raw"}}}}]}}'
    for where, image in records(read_json(file, without=("tokens", "context")), "images", file, expected):
        name = take(image, "filename", str, where, expected)
        raw = take(take(image, text, dict, where, expected), "raw", str, f"{where}.{text}", expected)
        split = take(image, "split", str, where, expected)
        yield Entry(Path(name).stem, split, image_place(config, root, name), [raw[:CHARACTERS]])
