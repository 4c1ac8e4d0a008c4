"""Files of foils in their published formats, with invented content."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path


def valse_entry(image: str, caption: str, foil: str, votes: Sequence[int] = (3, 0)) -> dict:
    """An entry as the files of VALSE have it; `votes` of three annotators for the caption and for the foil."""
    return {
        "dataset": "photos",
        "original_split": "test",
        "dataset_idx": image,
        "linguistic_phenomena": "existence",
        "image_file": image,
        "caption": caption,
        "classes": "dog",
        "classes_foil": "no dog",
        "mturk": {"caption": votes[0], "foil": votes[1], "other": 3 - sum(votes)},
        "foil": foil,
    }


def write_valse(folder: Path, pieces: Mapping[str, Sequence[dict]]) -> dict[str, list[str]]:
    """A file of VALSE for each piece, by its published name; the key of a config that names them."""
    for name, entries in pieces.items():
        document = {f"{name}_test_{number}": entry for number, entry in enumerate(entries)}
        (folder / f"{name}.json").write_text(json.dumps(document))
    return {"annotations": [f"{name}.json" for name in pieces]}


def write_sugarcrepe(folder: Path, kinds: Mapping[str, Sequence[tuple[str, str, str]]]) -> dict[str, list[str]]:
    """A file of SugarCrepe for each kind: image, caption and negative of each entry; the key that names them."""
    for name, entries in kinds.items():
        keys = ("filename", "caption", "negative_caption")
        document = {str(number): dict(zip(keys, entry, strict=True)) for number, entry in enumerate(entries)}
        (folder / f"{name}.json").write_text(json.dumps(document))
    return {"annotations": [f"{name}.json" for name in kinds]}


def winoground_example(number: int, captions: Sequence[str], tag: str = "Object") -> dict:
    """An example as `examples.jsonl` of Winoground has it, with the images ex_N_img_0 and ex_N_img_1."""
    return {
        "id": number,
        "image_0": f"ex_{number}_img_0",
        "image_1": f"ex_{number}_img_1",
        "caption_0": captions[0],
        "caption_1": captions[1],
        "tag": "Noun Phrase",
        "secondary_tag": "",
        "num_main_preds": 1,
        "collapsed_tag": tag,
    }


def write_winoground(folder: Path, examples: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """A file of Winoground; the key that names it."""
    (folder / "examples.jsonl").write_text("".join(f"{json.dumps(example)}\n" for example in examples))
    return {"annotations": "examples.jsonl"}
