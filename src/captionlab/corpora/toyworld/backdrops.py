"""Backdrops: scenes without their objects. Coordinates are pixels of the finished image, on an oversized canvas."""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from random import Random
from typing import Any

from PIL import Image

from captionlab.corpora.toyworld.pen import SUPERSAMPLING, Colour, Pen, Points, mix
from captionlab.corpora.toyworld.world import SCENERY, SCENES, SIDE


@cache
def backdrop(scene: str, number: int) -> Image.Image:
    """Return backdrop `number` of a scene as an RGB image of SIDE x SIDE."""
    image = Image.new("RGB", (SIDE * SUPERSAMPLING,) * 2)
    units = (SUPERSAMPLING, SUPERSAMPLING)
    _Scenery(image, units, SCENERY["paints"], Random(f"{scene} {number}")).draw(SCENES[scene].backdrop)
    return image.reduce(SUPERSAMPLING)


class _Scenery(Pen):
    """A pen with the shapes that only scenes have: varying colours, and forms that depend on chance or perspective."""

    def stamp(self, shape: Mapping[str, Any], x: float, y: float) -> None:
        """Draw one shape, moved by x and y, or define a colour. Raises ValueError if the shape is unknown."""
        match shape:
            case {"tint": name, "of": colours}:
                self.colours[name] = self._tint(colours)
            case {"paint": name, "of": colour}:
                self.colours[name] = self.colour(colour)
            case {"alternatives": alternatives}:
                self.draw(self.random.choice(alternatives), x, y)
            case {"panel": colour, "at": at}:
                self._panel(self.colour(colour), self.points(at, x, y))
            case {"fade": [top, bottom], "at": at}:
                self._fade(self.colour(top), self.colour(bottom), *(round(value * SUPERSAMPLING) for value in at))
            case {"fan": colour, "at": [y1, y2], "steps": [far, near]}:
                for step in range(-9, 10):
                    ends = (SIDE / 2 + step * far, y1, SIDE / 2 + step * near, y2)
                    self.line(colour, self.points(ends), shape)
            case {"stroke": colour, "at": at, "length": lengths}:
                self.line(colour, self.points((*at, at[0] + self.random.uniform(*lengths), at[1]), x, y), shape)
            case {"palm": colour, "at": [left, foot], "height": heights}:
                self._palm(colour, x + left, foot, self.random.uniform(*heights))
            case {"houses": colours, "at": foot}:
                self._houses(colours, foot)
            case {"tiles": colour}:
                self._tiles(self.colour(colour))
            case _:
                super().stamp(shape, x, y)

    def _tint(self, colours: Sequence[Any]) -> Colour:
        """Return a randomly chosen colour, slightly changed."""
        colour = self.colour(self.random.choice(colours))
        return mix(colour, self.random.choice(((255, 255, 255), (90, 80, 110))), self.random.uniform(0, 0.12))

    def _panel(self, colour: Colour, corners: Points) -> None:
        (x1, y1), (x2, y2) = corners
        if x2 > x1 and y2 > y1:
            self.canvas.rectangle((x1, y1, x2 - 1, y2 - 1), colour)

    def _fade(self, top: Colour, bottom: Colour, start: int, end: int) -> None:
        for y in range(start, end):
            self.canvas.line((0, y, self.image.width, y), mix(top, bottom, (y - start) / max(1, end - start)))

    def _palm(self, colour: Any, x: float, foot: float, height: float) -> None:
        top = foot - height
        self.draw([{"line": "#967046", "at": (x, foot, x + 1, foot - height / 2, x + 2.5, top), "width": 1.6}])
        for right, down in ((-9, 3), (-7, -3), (-1, -6), (6, -4), (9, 3), (3, 6)):
            leaf = (0, 0, right * 0.6, down - 1.5, right, down + 1.5)
            self.draw([{"line": colour, "at": leaf, "width": 1.5}], x + 2.5, top)

    def _houses(self, colours: Sequence[Any], foot: float) -> None:
        """Draw a row of houses with lit and dark windows."""
        x = -self.random.uniform(0, 6)
        while x < SIDE:
            width, height = self.random.uniform(7, 13), self.random.uniform(9, 22)
            house, top = self._tint(colours), foot - height
            self._panel(house, self.points((x, top, x + width, foot)))
            for right in range(1, int(width) - 1, 3):
                for down in range(2, int(height) - 2, 4):
                    window = self.random.choice(((250, 236, 170), mix(house, (40, 50, 80), 0.45)))
                    edges = (x + right, top + down, x + right + 1.6, top + 2 + down)
                    self._panel(window, self.points(edges))
            x += width + self.random.choice((0, 0, 1.5))

    def _tiles(self, colour: Colour) -> None:
        """Draw every second tile of a floor in perspective."""
        for row, (top, bottom) in enumerate(pairwise((43.5, 46.5, 51, 57, SIDE))):
            far, near = ((0.36 + (y - 43.5) / 40) * 20 for y in (top, bottom))
            for column in range(-6, 6):
                if (row + column) % 2:
                    upper = [(SIDE / 2 + edge * far, top) for edge in (column, column + 1)]
                    lower = [(SIDE / 2 + edge * near, bottom) for edge in (column + 1, column)]
                    self.canvas.polygon(self.points([*chain.from_iterable(upper + lower)]), colour)
