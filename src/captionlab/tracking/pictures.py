"""Small pictures of examples: the image alone, and a card of the image with its caption."""

import logging
import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, ImageOps

from captionlab.images.locations import LOCATION
from captionlab.images.pixels import open_image
from captionlab.storage.row_groups import read_chosen
from captionlab.storage.schemas import IMAGES
from captionlab.tracking.updates import Example

logger = logging.getLogger(__name__)

SIDE, TEXT = 128, 232  # longest side of an image, and width of the text beside it, in pixels
SIZE, LINE, LETTERS = 12, 16, 34  # font size and line height in pixels, and characters in a line
BLACK, GREY = "#111111", "#555555"


class Pictures:
    """Images of examples, each read once."""

    def __init__(self, images: str | os.PathLike[str]):
        """Take the table of IMAGES that has the images."""
        self.images = images
        self.read: dict[str, Image.Image | None] = {}

    def of(self, ids: Iterable[str]) -> list[Image.Image | None]:
        """Return images by their ids, the longer side SIDE pixels, or None for an image that cannot be read."""
        wanted = [*ids]
        if new := {*wanted} - self.read.keys():
            for row in read_chosen(self.images, IMAGES, ["image_id", *LOCATION], new).to_pylist():
                image = None
                try:
                    image = ImageOps.contain(open_image(row), (SIDE, SIDE))
                except (OSError, ValueError) as failure:
                    logger.warning("%s is shown without its pixels: %s", row["image_id"], failure)
                self.read[row["image_id"]] = image
        return [self.read.get(image_id) for image_id in wanted]

    def cards(self, examples: Sequence[Example]) -> Iterator[tuple[str, Image.Image]]:
        """Yield the id of each example's image, and the card of the example."""
        images = self.of(example.image_id for example in examples)
        for image, example in zip(images, examples, strict=True):
            yield example.image_id, card(image, example)


def card(image: Image.Image | None, example: Example) -> Image.Image:
    """Return a picture of an example: its image, and beside it the caption, the reward and the first reference."""
    earned = "" if example.reward is None else f"reward {example.reward:.4g}"
    parts = [(example.caption, BLACK), (earned, GREY), (f"reference: {example.references[0]}", GREY)]
    lines = [(line, colour) for text, colour in parts for line in textwrap.wrap(text, LETTERS)]
    picture = Image.new("RGB", (SIDE + TEXT, max(SIDE, LINE * (len(lines) + 1))), "white")
    if image:
        picture.paste(image, ((SIDE - image.width) // 2, (SIDE - image.height) // 2))
    draw = ImageDraw.Draw(picture)
    for number, (line, colour) in enumerate(lines):
        draw.text((SIDE + LINE // 2, LINE // 2 + LINE * number), line, colour, _font())
    return picture


@cache
def _font() -> ImageFont.FreeTypeFont:
    """Return DejaVu Sans, which covers most alphabets, from the files of matplotlib, without importing matplotlib."""
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("matplotlib, which brings the font, is not installed")
    return ImageFont.truetype(Path(spec.origin).parent / "mpl-data/fonts/ttf/DejaVuSans.ttf", SIZE)
