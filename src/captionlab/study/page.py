"""The study as web pages that need nothing but a static server: for participants, and to look the images through."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab.study.pictures import file_name
from captionlab.study.psychopy import paragraphs

# Where a page's data stand in its template.
PLACE = "{{data}}"
Row = Mapping[str, Any]


def study_page(template: str, study: str, screens: Sequence[Row], consent: str, post: str | None) -> str:
    """The page for participants: a template of resources/study with its data.

    `screens` are rows of STIMULI; `consent` is a text whose paragraphs are parted by empty lines; `post` is the address
    that answers are sent to, None where they are only downloaded. The page does not hold which image is the right one.
    """
    blocks: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(screens, key=lambda row: (row["block"], row["question"])):
        shown = {"caption": row["caption"], "images": [file_name(image) for image in row["images"]]}
        blocks.setdefault(row["block"], []).append(shown)
    [example] = blocks.pop(0)
    shown_before = {"study": study, "consent": paragraphs(consent), "post": post, "example": example}
    return _filled(template, {**shown_before, "blocks": [blocks[number] for number in sorted(blocks)]})


def review_page(template: str, screens: Sequence[Row], pictures: str) -> str:
    """The page to flag images that must not be shown, set by set; `pictures` is their folder, relative to the page."""
    sets: dict[str, dict[str, Any]] = {}
    for row in screens:
        others = [image for image in row["images"] if image != row["target"]]
        images = [{"id": image, "file": file_name(image)} for image in (row["target"], *others)]
        shown = sets.setdefault(row["stimulus"], {"name": row["stimulus"], "images": images, "captions": []})
        shown["captions"].append({"type": row["caption_type"], "caption": row["caption"]})
    return _filled(template, {"folder": pictures, "sets": [sets[name] for name in sorted(sets)]})


def read_template(path: str | Path) -> str:
    """A template; ValueError when it has no place for data."""
    text = Path(path).read_text(encoding="utf-8")
    if PLACE not in text:
        raise ValueError(f"{path} has no {PLACE}, where the data of the page belong")
    return text


def _filled(template: str, data: Mapping[str, Any]) -> str:
    """The template with data as JSON in which nothing can end the script element that holds it."""
    return template.replace(PLACE, json.dumps(data).replace("<", "\\u003c"))
