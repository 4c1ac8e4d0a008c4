"""The study as web pages that need only a static server, with images under names that reveal nothing."""

import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
from PIL import Image

from captionlab.images.pixels import open_image

SIZE = 400  # height and width in pixels: sharp on a large screen, and ten images take about 300 kB
QUALITY = 88
PAPER = (255, 255, 255)
PLACE = "{{data}}"  # placeholder for data in a template
ORIGIN = "{{images}}"  # placeholder in a consent text for the origin of the images
# What a consent text says of images by their origin: drawings of the toy world, a published data set, or any corpus.
ORIGINS = {
    "rendered": "The images are drawings, which a computer program rendered. It made their captions, too.",
    "published": "The images come from a published data set, and were described by people and by computer programs. We "
    "looked them through, but some may still be upsetting.",
    "own": "You see images of the corpus {corpus}, which were described by people and by computer programs. We looked "
    "them through, but some may still be upsetting.",
}
Row = Mapping[str, Any]


def file_name(image_id: str) -> str:
    """Return the file name of an image: a hash of its id.

    Ids may contain any character, and numbers would reveal neighbours in a video.
    """
    return hashlib.sha256(image_id.encode()).hexdigest()[:16] + ".jpg"


def pictures(images: pa.Table) -> Iterator[tuple[str, bytes]]:
    """Yield the file name and the JPEG of each image of a table.

    Images are padded to a square with white, the background of every screen.
    """
    for row in images.to_pylist():
        image = open_image(row)
        scale = SIZE / max(image.size)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        image = image.resize(size, Image.Resampling.BICUBIC)
        square = Image.new("RGB", (SIZE, SIZE), PAPER)
        square.paste(image, ((SIZE - image.width) // 2, (SIZE - image.height) // 2))
        stream = io.BytesIO()
        square.save(stream, "JPEG", quality=QUALITY)
        yield file_name(row["image_id"]), stream.getvalue()


def write_pictures(files: Iterator[tuple[str, bytes]], directories: list[Path]) -> None:
    """Write the same files into several folders, and create the folders."""
    for directory in directories:
        directory.mkdir(parents=True, exist_ok=True)
    for name, content in files:
        for directory in directories:
            (directory / name).write_bytes(content)


def study_page(template: str, study: str, screens: Sequence[Row], consent: str, post: str | None) -> str:
    """Return the page for participants: a template of resources/study, filled with the screens of a study.

    `screens` are rows of STIMULI. `consent` is a text with empty lines between its paragraphs. `post` is the address to
    which answers are sent; if it is None, answers can only be downloaded. The page does not reveal the target images.
    """
    ordered = sorted(screens, key=lambda row: (row["block"], row["question"]))
    [example], *blocks = (
        [{"caption": row["caption"], "images": [*map(file_name, row["images"])]} for row in of_block]
        for _, of_block in groupby(ordered, key=lambda row: row["block"])
    )
    shown_before = {"study": study, "consent": paragraphs(consent), "post": post, "example": example}
    return _filled(template, {**shown_before, "blocks": blocks})


def review_page(template: str, study: str, screens: Sequence[Row], excluded: Iterable[str], pictures: str) -> str:
    """Return the page on which a reviewer flags, set by set, images that must not be shown.

    `pictures` is the folder of the images, relative to the page. The browser stores ticks under the name of the
    `study`. The list that the page gives begins with the images `excluded` so far.
    """
    sets: dict[str, dict[str, Any]] = {}
    for row in screens:
        others = [image for image in row["images"] if image != row["target"]]
        images = [{"id": image, "file": file_name(image)} for image in (row["target"], *others)]
        shown = sets.setdefault(row["stimulus"], {"name": row["stimulus"], "images": images, "captions": []})
        shown["captions"].append({"type": row["caption_type"], "caption": row["caption"]})
    known = {"study": study, "excluded": sorted(excluded), "folder": pictures}
    return _filled(template, {**known, "sets": [sets[name] for name in sorted(sets)]})


def read_template(path: str | Path) -> str:
    """Return the text of a template. Raises ValueError if it has no place for data."""
    text = Path(path).read_text(encoding="utf-8")
    if PLACE not in text:
        raise ValueError(f"{path} has no {PLACE}, where the data of the page belong")
    return text


def _filled(template: str, data: Mapping[str, Any]) -> str:
    """Return a template filled with data as JSON, escaped so that no data can end the script element around it."""
    return template.replace(PLACE, json.dumps(data).replace("<", "\\u003c"))


def consent_text(text: str, origin: str, corpus: str) -> str:
    """Return a consent text with a sentence on the images in the place for it.

    `origin` is a key of ORIGINS, and `corpus` is the name of the corpus of the images.
    """
    return text.replace(ORIGIN, ORIGINS[origin].format(corpus=corpus))


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines separate, each in one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]
