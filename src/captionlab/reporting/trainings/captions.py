"""Captions of the same images over a training, from the tables that the run has anyway."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from captionlab.images.locations import LOCATION
from captionlab.images.pixels import open_image
from captionlab.reporting.documents.facts import AnyPath
from captionlab.storage.row_groups import read_chosen
from captionlab.storage.schemas import GENERATED, IMAGES, REWARDS, TRAINING_CAPTIONS
from captionlab.storage.tables import read_table

# At most so many images of a training, and so many times, are on a page.
IMAGES_SHOWN, TIMES_SHOWN = 8, 8
# Longer side of pictures in pixels, and JPEG quality.
SIDE, QUALITY = 160, 82


@dataclass(frozen=True)
class Said:
    """A caption at a time of the training, such as `update 40`, and its reward, if it has one."""

    time: str
    caption: str
    reward: float | None = None


@dataclass(frozen=True)
class OverTime:
    """Captions of some images over a training: by image, in the order of time. `times` counts the recorded times."""

    source: str  # what the captions are, in a sentence
    corpus: str
    images: Mapping[str, Sequence[Said]]
    times: int


def at_validations(path: AnyPath, corpus: str) -> OverTime | None:
    """Return the captions that a training recorded at its validations, or None if it recorded none."""
    rows = read_table(path, TRAINING_CAPTIONS).to_pylist()
    steps = sorted({row["step"] for row in rows})
    if not rows:
        return None
    shown = {*spread(steps)}
    images = defaultdict[str, list[Said]](list)
    for row in sorted(rows, key=lambda row: row["step"]):
        if row["step"] in shown:
            images[row["image_id"]].append(Said(f"update {row['step']:,}", row["caption"], row["reward"]))
    source = "Captions of the same training images at validations, by the decoding of the validation."
    return OverTime(source, corpus, first_of(images), len(steps))


def before_and_after(path: AnyPath, corpus: str) -> OverTime:
    """Return greedy captions of training images before and after a training by a reward, with their rewards."""
    rows = read_table(path, REWARDS, ["captions", "image_id", "caption", "reward"]).to_pylist()
    images = defaultdict[str, list[Said]](list)
    for time in ("before", "after"):
        for row in (row for row in rows if row["captions"] == time):
            images[row["image_id"]].append(Said(time, row["caption"], row["reward"]))
    source = "Greedy captions of the same training images, by the parent and by the trained captioner."
    return OverTime(source, corpus, first_of(images), 2)


def at_snapshots(files: Sequence[tuple[str, AnyPath]]) -> OverTime | None:
    """Return the captions of the same evaluated images by snapshots and by the end of the training.

    `files` has the time of each table of captions, in the order of time. Only the first corpus is shown. None if there
    are no captions.
    """
    columns = ["corpus", "image_id", "caption_index", "caption"]
    tables = [(time, read_table(path, GENERATED, columns)) for time, path in files]
    corpus = next(iter(tables[0][1]["corpus"].to_pylist()), None)
    if corpus is None:
        return None
    images = defaultdict[str, list[Said]](list)
    for time, table in [tables[place] for place in spread(range(len(tables)))]:
        first = table.filter(pc.and_(pc.equal(table["corpus"], corpus), pc.equal(table["caption_index"], 0)))
        for row in first.slice(0, IMAGES_SHOWN).to_pylist():
            images[row["image_id"]].append(Said(time, row["caption"]))
    source = "Captions of the same evaluated images by the snapshots and by the end of the training."
    return OverTime(source, corpus, first_of(images), len(tables))


def spread(values: Sequence[int]) -> list[int]:
    """Return at most TIMES_SHOWN of some values, evenly spread, both ends among them."""
    if len(values) <= TIMES_SHOWN:
        return list(values)
    return [values[round(n * (len(values) - 1) / (TIMES_SHOWN - 1))] for n in range(TIMES_SHOWN)]


def first_of(images: Mapping[str, Sequence[Said]]) -> dict[str, Sequence[Said]]:
    """Return the first images."""
    return dict(list(images.items())[:IMAGES_SHOWN])


def write_pictures(path: AnyPath, ids: Iterable[str], corpus: str, folder: Path) -> dict[str, str]:
    """Write a small JPEG of each of some images of a table of IMAGES, and return the name of its file by image.

    An image that has no file, or can no longer be read, has no picture.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    for number, row in enumerate(read_chosen(path, IMAGES, ["image_id", *LOCATION], {*ids}).to_pylist()):
        if row["path"] is None and row["data"] is None:
            continue
        try:
            small = open_image(row)
        except Exception:  # decoders raise all kinds of errors on damaged bytes
            continue
        small.thumbnail((SIDE, SIDE))
        pictures[row["image_id"]] = f"{corpus}-{number}.jpg"
        small.convert("RGB").save(folder / pictures[row["image_id"]], "JPEG", quality=QUALITY)
    return pictures
