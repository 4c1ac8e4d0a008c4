"""Drawing in percent on a canvas several times too large, and the paints that go with a colour name."""

from collections.abc import Sequence
from dataclasses import dataclass

from PIL import Image, ImageChops, ImageDraw, ImageFilter

RGB = tuple[int, int, int]
SUPERSAMPLING = 4

_BASES: dict[str, RGB] = {
    "red": (214, 40, 40),
    "orange": (246, 132, 24),
    "yellow": (250, 212, 40),
    "green": (44, 150, 62),
    "blue": (38, 92, 214),
    "purple": (132, 56, 172),
    "pink": (246, 130, 182),
    "brown": (134, 82, 44),
    "black": (50, 50, 56),
    "white": (246, 246, 242),
}
GLASS: RGB = (198, 228, 244)
METAL: RGB = (150, 154, 162)
DARK: RGB = (46, 46, 54)
WOOD: RGB = (150, 100, 58)


def mix(first: RGB, second: RGB, share: float) -> RGB:
    """The first colour with that share of the second."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return red, green, blue


@dataclass(frozen=True)
class Paint:
    """The paints of an object of some colour: body, shade, highlight, trim that stands out, and outline."""

    base: RGB
    shade: RGB
    light: RGB
    trim: RGB
    outline: RGB


def paint_of(colour: str) -> Paint:
    """The paints of a colour name."""
    base = _BASES[colour]
    trim = (250, 250, 246) if colour != "white" else (120, 170, 220)
    outline = mix(base, (12, 12, 18), 0.68) if colour != "white" else (96, 98, 108)
    return Paint(base, mix(base, (10, 10, 30), 0.3), mix(base, (255, 255, 255), 0.38), trim, outline)


class Brush:
    """Draws on an image a few times too large; coordinates are x, y, x, y, ... in units of so many of its pixels."""

    def __init__(self, image: Image.Image, x: float, y: float, margin: float = 0):
        self.image, self.draw = image, ImageDraw.Draw(image)
        self.x, self.y, self.margin = x, y, margin

    def _points(self, values: Sequence[float]) -> list[tuple[float, float]]:
        pairs = zip(values[::2], values[1::2], strict=True)
        return [(x * self.x + self.margin, y * self.y + self.margin) for x, y in pairs]

    def polygon(self, colour: RGB, *values: float) -> None:
        """A filled polygon."""
        self.draw.polygon(self._points(values), fill=colour)

    def oval(self, colour: RGB, *values: float) -> None:
        """A filled ellipse in the box left, top, right, bottom."""
        self.draw.ellipse(self._points(values), fill=colour)

    def line(self, colour: RGB, *values: float, width: float = 1) -> None:
        """A line through points, so many pixels of the finished image wide."""
        self.draw.line(self._points(values), fill=colour, width=max(1, round(width * SUPERSAMPLING)), joint="curve")


class Pen(Brush):
    """Draws on a transparent canvas; coordinates run from 0 to 100 across the width and down the height."""

    def __init__(self, width: int, height: int):
        margin = 2 * SUPERSAMPLING  # room for the outline
        image = Image.new("RGBA", (width * SUPERSAMPLING + 2 * margin, height * SUPERSAMPLING + 2 * margin))
        super().__init__(image, width * SUPERSAMPLING / 100, height * SUPERSAMPLING / 100, margin)
        self.size = (width, height)

    def pie(self, colour: RGB, start: float, end: float, *values: float) -> None:
        """A slice of the ellipse in a box, from one angle to another (degrees, clockwise from the right)."""
        self.draw.pieslice(self._points(values), start, end, fill=colour)

    def box(self, colour: RGB, *values: float, radius: float = 0) -> None:
        """A filled rectangle, its corners rounded by so many pixels of the finished image."""
        self.draw.rounded_rectangle(self._points(values), radius * SUPERSAMPLING, fill=colour)

    def arc(self, colour: RGB, start: float, end: float, *values: float, width: float = 1) -> None:
        """A piece of the rim of the ellipse in a box."""
        self.draw.arc(self._points(values), start, end, fill=colour, width=max(1, round(width * SUPERSAMPLING)))

    def hole(self, *values: float) -> None:
        """An elliptic hole."""
        self.draw.ellipse(self._points(values), fill=(0, 0, 0, 0))

    def finish(self, outline: RGB) -> Image.Image:
        """Outline and shade what was drawn, and scale it so that it fills width x height exactly."""
        alpha = self.image.getchannel("A")
        # Light comes from the upper left: a highlight at the top, a shade at the foot.
        gradient = Image.linear_gradient("L").resize(self.image.size)
        shading = ImageChops.multiply(self.image.convert("RGB"), _grey(gradient, 262, 205))
        body = Image.new("RGBA", self.image.size, (*outline, 0))
        body.putalpha(alpha.filter(ImageFilter.MaxFilter(5)))
        body.paste(shading, mask=alpha)
        box = body.getchannel("A").getbbox()
        if box is None:
            raise ValueError("nothing was drawn")
        return body.crop(box).resize(self.size, Image.Resampling.BOX)


def _grey(gradient: Image.Image, top: int, bottom: int) -> Image.Image:
    values = [min(255, round(top + (bottom - top) * step / 255)) for step in range(256)]
    grey = gradient.point(values)
    return Image.merge("RGB", (grey, grey, grey))
