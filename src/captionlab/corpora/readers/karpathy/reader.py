"""COCO, Flickr8k and Flickr30k in the splits of Karpathy and Fei-Fei."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any

from captionlab.corpora.readers.entries import Entry, image_place, records, take
from captionlab.userfiles.ids import file_id, id_text
from captionlab.userfiles.reading import read_json


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of COCO, Flickr8k or Flickr30k in the splits of Karpathy and Fei-Fei (2015).

    Each corpus has one JSON file. The split `restval`, the part of COCO's validation images that is generally used for
    training, becomes `train`. All captions of an image are used; a few images of COCO have six or seven. An image is
    known by its COCO number (`cocoid`), or by the path in `filename` without its ending if it has no number. Raises
    CorpusError if a record is malformed.
    """
    file = root / config["annotations"]
    expected = '{"images": [{"filename", "split", "sentences": [{"raw"}]}]}, in COCO with "filepath" and "cocoid"'
    for where, image in records(read_json(file, without=("tokens",)), "images", file, expected):
        name = take(image, "filename", str, where, expected)
        split = take(image, "split", str, where, expected)
        folder = take({"filepath": "", **image}, "filepath", (str, NoneType), where, expected) or ""
        sentences = take(image, "sentences", list, where, expected)
        yield Entry(
            image_id=id_text(image.get("cocoid"), f"{where}: 'cocoid'") or file_id(name),
            split="train" if split == "restval" else split,
            place=image_place(config, root, Path(folder) / name),
            captions=[
                take(sentence, "raw", str, f"{where}.sentences[{i}]", expected) for i, sentence in enumerate(sentences)
            ],
        )
