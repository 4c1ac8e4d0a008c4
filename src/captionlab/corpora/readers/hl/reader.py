"""The High-Level dataset."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from types import NoneType
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, Scene, image_place, take, take_texts
from captionlab.userfiles.ids import coco_number, file_id
from captionlab.userfiles.reading import json_line, text_lines


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of the High-Level dataset (Cafagna et al. 2023): JSON lines, one file per split.

    The images are from COCO train2014. The captions are COCO's object captions, or the captions of the axis that the
    key `text` of the config names. Scene captions always become scenes with their confidence. An image is known by its
    COCO number, as in the other readers of COCO. Lines of HL-narratives have the same format with captions "narrative",
    and need no scene captions.

    The validation split of Cafagna et al. 2022 was not published. Its images are in the published train split. The key
    `validation` of the config draws `images` of the train images with `seed` and puts them into the split val.

    Raises CorpusError if a line has another structure or if `validation` leaves no images for training. Raises
    GivenError if a line is no JSON.
    """
    kept = config.get("text", "object")
    lists = ", ".join(f'"{name}": [...]' for name in dict.fromkeys((kept, "scene")))
    expected = f'{{"file_name", "captions": {{{lists}}}, "confidence": {{"scene": [...]}}}}'
    for split, file_name in config["annotations"].items():
        drawn = _drawn_lines(config.get("validation"), root / file_name) if split == "train" else set()
        for number, (where, line) in enumerate(text_lines(root / file_name)):
            record = json_line(line, where)
            name = take(record, "file_name", str, where, expected)
            texts = take(record, "captions", dict, where, expected)
            without: dict[str, Any] = {"scene": []} if kept == "narrative" else {}
            scenes = take_texts(without | texts, "scene", f"{where}: captions", expected)
            rated = take({"confidence": None, **record}, "confidence", (dict, NoneType), where, expected) or {}
            unrated = {"scene": [None] * len(scenes)}
            confidences = take(unrated | rated, "scene", list, f"{where}: confidence", expected)
            if len(confidences) != len(scenes):
                raise CorpusError(f"{where} has {len(scenes)} scene captions and {len(confidences)} confidences")
            yield Entry(
                image_id=coco_number(name) or file_id(name),
                split="val" if number in drawn else split,
                place=image_place(config, root, name, split),
                captions=take_texts(texts, kept, f"{where}: captions", expected),
                scenes=[Scene(*pair) for pair in zip(scenes, confidences, strict=True)],
            )


def _drawn_lines(validation: Mapping[str, int] | None, file: Path) -> set[int]:
    """Return the numbers, from 0, of the lines that are drawn for validation.

    Raises CorpusError if the draw leaves no line for training.
    """
    if validation is None:
        return set()
    lines = sum(1 for _ in text_lines(file))
    if validation["images"] >= lines:
        raise CorpusError(f"{file} has {lines} images; validation.images is {validation['images']}, which leaves none")
    return {*Random(validation["seed"]).sample(range(lines), validation["images"])}
