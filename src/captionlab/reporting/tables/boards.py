"""Figures made of pictures and text, with all positions in inches.

Lines of text are broken by the width of their letters.
"""

import io
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from captionlab.reporting.tables.figures import text_width
from captionlab.reporting.tables.shortening import MOST, shortened

# A word and its style.
Word = tuple[str, str]
PLAIN, BOLD, MARKED, GREY = "plain", "bold", "marked", "grey"
WRITTEN: dict[str, dict[str, Any]] = {
    PLAIN: {},
    BOLD: {"weight": "bold"},
    # The bold weight shows in a greyscale print, where the colour does not.
    MARKED: {"weight": "bold", "bbox": {"facecolor": "#FFE28A", "edgecolor": "none", "pad": 0.6}},
    GREY: {"color": "#555555"},
}
# Distance between lines, in heights of letters.
LEADING = 1.4


def words(text: str, written: str = PLAIN) -> list[Word]:
    """Return the words of a text, all in the same style."""
    return [(word, written) for word in text.split()]


class Board:
    """A figure of pictures and text, with positions in inches from its upper left corner."""

    def __init__(self, width: float):
        """Start a figure of this width in inches. The height is set by `finish`."""
        self.width = width
        self.figure: Figure = plt.figure()
        self.figure.set_layout_engine("none")
        self.axis: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axis.set_axis_off()

    def picture(self, content: bytes, x: float, y: float, side: float, frame: str | None = None) -> float:
        """Draw an image and return the position of its lower edge.

        The larger side of the image is `side` inches long. `frame` is the colour of a frame, None for no frame.
        """
        image = Image.open(io.BytesIO(content)).convert("RGB")
        width, height = (side * length / max(image.size) for length in image.size)
        self.axis.imshow(image, extent=(x, x + width, y + height, y), aspect="auto")
        if frame:
            self.axis.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=frame, linewidth=2.0))
        return y + height

    def write(self, said: Iterable[Word], x: float, y: float, width: float, size: float) -> float:
        """Write words in lines no wider than `width` inches and return the position below the last line.

        `y` is the top of the first line; `size` is the font size in points. Of a text of hundreds of words only the
        first are written, and how many there are.
        """
        every = list(said)
        for row in wrapped(every if len(every) <= MOST else _shortened(every), width, size):
            place = x
            for written, group in groupby(row, key=lambda word: word[1]):
                text = " ".join(word for word, _ in group)
                self.axis.text(place, y + size / 72, text, size=size, va="baseline", **WRITTEN[written])
                place += text_width(f"{text} x", size, _weight(written)) - text_width("x", size)
            y += LEADING * size / 72
        return y

    def label(self, text: str, x: float, y: float, size: float, **drawn: Any) -> None:
        """Write a text that is centred on a position; `size` is the font size in points."""
        self.axis.text(x, y, text, size=size, **{"ha": "center", "va": "center", **drawn})

    def finish(self, height: float) -> Figure:
        """Return the figure with this height in inches."""
        self.figure.set_size_inches(self.width, height)
        self.axis.set(xlim=(0, self.width), ylim=(height, 0))
        return self.figure


def wrapped(said: Iterable[Word], width: float, size: float) -> list[Sequence[Word]]:
    """Break words into lines that are no wider than `width` inches.

    A word that is wider than a line is shortened, with an ellipsis at its end. `size` is the font size in points.
    """
    lines: list[list[Word]] = [[]]
    space, left = text_width("x x", size) - 2 * text_width("x", size), width
    for word, written in said:
        while (long := text_width(word, size, _weight(written))) > width and len(word) > 2:
            word = f"{word[:-2]}…"
        if long > left and lines[-1]:
            lines.append([])
            left = width
        lines[-1].append((word, written))
        left -= long + space
    return [row for row in lines if row]


def _shortened(said: Sequence[Word]) -> list[Word]:
    """Return the first words of a long text, and how many words it has."""
    return [*said[:MOST], *words(" ".join(shortened([word for word, _ in said])[MOST:]), GREY)]


def _weight(written: str) -> str:
    return str(WRITTEN[written].get("weight", "normal"))
