"""Drawing of the shapes in the files of resources/toyworld, on a canvas several times larger than the image."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from random import Random
from typing import Any

from PIL import Image, ImageColor, ImageDraw

Colour = tuple[int, ...]  # red, green, blue, and optionally alpha
Points = list[tuple[float, float]]
SUPERSAMPLING = 4


def mix(first: Colour, second: Colour, share: float) -> Colour:
    """Return the first colour mixed with the second colour, which gets the share `share`."""
    return tuple(round(a + (b - a) * share) for a, b in zip(first, second, strict=True))


class Pen:
    """A pen that draws shapes on an image; `units` are the pixels per unit of x and of y.

    `colours` maps names to colours, written as in the files or as numbers. `of` is the name of the object's own colour.
    """

    def __init__(
        self,
        image: Image.Image,
        units: tuple[float, float],
        colours: Mapping[str, Any],
        random: Random,
        margin: float = 0,
        of: str = "",
    ):
        self.image, self.canvas, self.units, self.margin = image, ImageDraw.Draw(image), units, margin
        self.colours, self.random, self.of = dict(colours), random, of

    def draw(self, shapes: Iterable[Mapping[str, Any]], x: float = 0, y: float = 0) -> None:
        """Draw shapes one over the other, moved by x and y and by their own offsets, as often as each shape states."""
        for shape in shapes:
            if "chance" in shape and self.random.random() >= shape["chance"]:
                continue
            (number,) = self._values(shape.get("number", 1))
            for _ in range(int(number)):
                for right, down in product(self._values(shape.get("x", 0)), self._values(shape.get("y", 0))):
                    self.stamp(shape, x + right, y + down)

    def stamp(self, shape: Mapping[str, Any], x: float, y: float) -> None:
        """Draw one shape, moved by x and y. Raises ValueError if the shape is unknown."""
        points = self.points(shape.get("at", ()), x, y)
        match shape:
            case {"shapes": shapes}:
                self.draw(shapes, x, y)
            case {"oval": colour}:
                self.canvas.ellipse(points, self.colour(colour))
            case {"box": colour}:
                self.canvas.rounded_rectangle(points, shape.get("radius", 0) * SUPERSAMPLING, self.colour(colour))
            case {"polygon": colour}:
                self.canvas.polygon(points, self.colour(colour))
            case {"line": colour}:
                self.line(colour, points, shape)
            case {"pie": colour, "angles": [start, end]}:
                self.canvas.pieslice(points, start, end, self.colour(colour))
            case {"arc": colour, "angles": [start, end]}:
                self.canvas.arc(points, start, end, self.colour(colour), _width(shape))
            case _:
                raise ValueError(f"the toy world has no shape such as {dict(shape)}")

    def line(self, colour: Any, points: Points, shape: Mapping[str, Any]) -> None:
        """Draw a line through points of the image, with the width of the shape."""
        self.canvas.line(points, self.colour(colour), _width(shape), joint="curve")

    def points(self, at: Sequence[float], x: float = 0, y: float = 0) -> Points:
        """Return the points x, y, x, y, ... moved by x and y, in pixels of the canvas."""
        (across, down), pairs = self.units, zip(at[::2], at[1::2], strict=True)
        return [((px + x) * across + self.margin, (py + y) * down + self.margin) for px, py in pairs]

    def colour(self, given: Any) -> Colour:
        """Return the colour for a colour entry of the files: a name, a "#rrggbb" value, a mixture or a choice."""
        match given:
            case {"among": colours}:
                return self.colour(self.random.choice(colours))
            case {"other": other}:
                return self.colour(given.get(self.of, other))
            case [first, second, share]:
                return mix(self.colour(first), self.colour(second), share)
            case _:
                found = self.colours.get(given, given)
                return ImageColor.getrgb(found) if isinstance(found, str) else found

    def _values(self, given: Any) -> Sequence[float]:
        match given:
            case {"from": start, "to": stop, "step": step}:
                return range(start, stop, step)
            case {"between": ends}:
                return [self.random.uniform(*ends)]
            case {"among": values}:
                return [self.random.choice(values)]
            case list():
                return given
            case _:
                return [given]


def _width(shape: Mapping[str, Any]) -> int:
    return max(1, round(shape.get("width", 1) * SUPERSAMPLING))
