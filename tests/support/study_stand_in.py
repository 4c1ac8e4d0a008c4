"""A small study for tests: images with known similarities, captions with markup in them, and its tables."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import write_table
from captionlab.study.schemas import STIMULI
from captionlab.study.stimuli import arrange, study_name

TYPES = ["plain", "tuned", "people"]
# Captions as data sets have them, and as someone who wants to break the page would write them.
ODD = [
    '<b>bold</b> & "quoted" <script>document.title = "broken"</script>',
    "it's </script><img src=x onerror=\"document.title = 'broken'\">",
    "[__import__('os').abort()]",
    "NA",
    "$caption",
    "100",
    "ein Hund läuft über die Straße 犬",
]


def study_screens(sets: int = 6, controls: int = 1, block: int = 6, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of STIMULI; image ids are numbers, those of a set follow each other."""
    blocks = len(TYPES) * sets // block
    number = sets + blocks * controls + 1
    members = [list(range(10 * first, 10 * first + 10)) for first in range(number)]
    generator = np.random.default_rng(seed)
    screens = arrange(members[:sets], members[sets:], block, TYPES, "people", generator)
    for screen in screens:
        shown = screen.pop("members")
        target = shown[screen["position"] - 1]
        odd = ODD[target // 10] if target // 10 < len(ODD) else "a photo"
        screen |= {
            "images": [f"image/{number} <i>" for number in shown],
            "target": f"image/{target} <i>",
            "caption": f"{odd} by {screen['caption_type']}" if screen["caption_type"] != "tuned" else odd,
            "similarities": [1.0 if number == target else 0.5 for number in shown],
        }
    return screens


def write_screens(path: Path, screens: list[dict[str, Any]]) -> str:
    """Write a table of stimuli; the study's name is returned."""
    name = study_name(screens)
    columns = {column: [screen[column] for screen in screens] for column in STIMULI.columns}
    write_table(path, STIMULI, columns, {"study": name, "corpus": "toy"})
    return name


def write_images(path: Path, ids: list[str], split: str = "test") -> None:
    """Write a table of images of different shapes and colours."""
    data = []
    for index, _ in enumerate(ids):
        stream = io.BytesIO()
        shape = [(64, 64), (90, 60), (50, 80)][index % 3]
        Image.new("RGB", shape, (37 * index % 256, 91 * index % 256, 13 * index % 256)).save(stream, "PNG")
        data.append(stream.getvalue())
    nothing = [None] * len(ids)
    write_table(
        path,
        IMAGES,
        {
            "image_id": ids,
            "position": range(len(ids)),
            "split": [split] * len(ids),
            "path": nothing,
            "offset": nothing,
            "length": nothing,
            "data": data,
            "width": [64] * len(ids),
            "height": [64] * len(ids),
            "image_set": nothing,
        },
    )
