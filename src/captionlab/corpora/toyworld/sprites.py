"""Sprites: the shapes of an object class, outlined and shaded. Coordinates are percent of the box."""

from functools import cache
from random import Random

from PIL import Image, ImageChops, ImageColor, ImageFilter, ImageOps

from captionlab.corpora.toyworld.pen import SUPERSAMPLING, Colour, Pen, mix
from captionlab.corpora.toyworld.world import CLASSES, OBJECTS, PEOPLE, sprite_size

_MARGIN = 2 * SUPERSAMPLING  # room for the outline


@cache
def sprite(label: str, colour: str, size: str, mirrored: bool, variant: int) -> Image.Image:
    """Return the RGBA image of one object, exactly as large as its box; `variant` (0 to 2) is the look of a person."""
    if variant and label not in PEOPLE:
        return sprite(label, colour, size, mirrored, 0)
    if mirrored:
        return ImageOps.mirror(sprite(label, colour, size, False, variant))
    paints = _paints(colour)
    width, height = (side * SUPERSAMPLING for side in sprite_size(label, size))
    canvas = Image.new("RGBA", (width + 2 * _MARGIN, height + 2 * _MARGIN))
    colours = {**OBJECTS["paints"], **OBJECTS["looks"][variant], **paints}
    Pen(canvas, (width / 100, height / 100), colours, Random(label), _MARGIN, colour).draw(CLASSES[label].shapes)
    return _finished(canvas, paints["outline"], sprite_size(label, size))


def _paints(colour: str) -> dict[str, Colour]:
    """Return the paints of an object: its colour, shade, highlight, a contrasting trim, and outline."""
    base = ImageColor.getrgb(OBJECTS["colours"][colour])
    return {
        "base": base,
        "shade": mix(base, (10, 10, 30), 0.3),
        "light": mix(base, (255, 255, 255), 0.38),
        "trim": (120, 170, 220) if colour == "white" else (250, 250, 246),
        "outline": (96, 98, 108) if colour == "white" else mix(base, (12, 12, 18), 0.68),
    }


def _finished(canvas: Image.Image, outline: Colour, size: tuple[int, int]) -> Image.Image:
    """Outline and shade the drawn canvas, and scale it to fill `size` (width, height) exactly."""
    alpha = canvas.getchannel("A")
    # Light comes from above: a highlight at the top, a shade at the foot.
    gradient = Image.linear_gradient("L").resize(canvas.size)
    grey = gradient.point([min(255, round(262 + (205 - 262) * step / 255)) for step in range(256)])
    shading = ImageChops.multiply(canvas.convert("RGB"), Image.merge("RGB", (grey, grey, grey)))
    body = Image.new("RGBA", canvas.size, (*outline, 0))
    body.putalpha(alpha.filter(ImageFilter.MaxFilter(5)))
    body.paste(shading, mask=alpha)
    box = body.getchannel("A").getbbox()
    if box is None:
        raise ValueError("nothing was drawn")
    return body.crop(box).resize(size, Image.Resampling.BOX)
