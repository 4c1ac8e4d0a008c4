"""FOIL (Shekhar et al. 2017): captions of COCO, each with versions in which a noun is wrong."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import records, take, take_id
from captionlab.judgements.readers.entries import Described, Preferred
from captionlab.userfiles.reading import read_json

EXPECTED = '{"annotations": [{"id", "image_id", "caption", "foil"}]}'


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Preferred]:
    """Yield for each image a true caption and one of its foils, drawn by the seed, as in Hessel et al. (2021, §4.4).

    A caption and its foils have the same `id`, the id of the caption in COCO. The true caption gets the only vote.
    Raises CorpusError if the file repeats an id with another caption, or has a foil without a true caption.
    """
    file = root / config["annotations"]
    true: dict[int, tuple[str, str]] = {}
    foils: dict[int, list[str]] = {}
    for where, record in records(read_json(file), "annotations", file, EXPECTED):
        number = take(record, "id", int, where, EXPECTED)
        image_id = take_id(record, "image_id", where, EXPECTED)
        caption = take(record, "caption", str, where, EXPECTED)
        if take(record, "foil", bool, where, EXPECTED):
            foils.setdefault(number, []).append(caption)
        elif true.setdefault(number, (image_id, caption)) != (image_id, caption):
            raise CorpusError(f"{where}: caption {number} is there already, and it is another; get the file again")
    if lonely := sorted(foils.keys() - true.keys()):
        raise CorpusError(f"{file}: {len(lonely)} foils have no true caption, the first is of caption {lonely[0]}")
    of_images: dict[str, list[int]] = {}
    for number in sorted(foils):
        of_images.setdefault(true[number][0], []).append(number)
    random = Random(config["seed"])
    for image_id, numbers in of_images.items():
        chosen = random.choice(numbers)
        yield Preferred(image_id, (true[chosen][1], random.choice(foils[chosen])), (1, 0))
