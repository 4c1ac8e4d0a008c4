"""HTML pages of figures: every point and bar has its numbers under the pointer and by keyboard, and leads to captions.

The numbers are read from the drawing: bars, points and curves that have a label are series. `Numbers` adds the
intervals, n and captions that a drawing does not have.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import ScalarFormatter
from matplotlib.transforms import Bbox

from captionlab.reporting.runs.values import Measured
from captionlab.reporting.templates import template

# Half of the side of a point's box, and the least side of a bar's box, in points.
REACH, LEAST = 5.0, 4.0
CURVE = 25  # the most points of a curve without markers that have numbers
POINTS = 72  # in an inch
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class PageOfFigure:
    """What a figure's page says beside the figure: its title, the table of its numbers, and its files by format.

    Addresses are relative to the folder of the figures.
    """

    title: str
    table: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Mark:
    """A point or a bar: its number and series, in words, its box in points from the upper left corner, and a link."""

    series: int
    text: str
    box: tuple[float, float, float, float]
    link: str


class Numbers(Artist):
    """The numbers of bars, or of points with intervals, in an axis. Draws nothing."""

    def __init__(self, container: Any, points: Mapping[float, Measured | None]):
        """Take the container and the numbers that it was drawn from, by their position on the axis."""
        super().__init__()
        self.container, self.measured = container, [number for number in points.values() if number is not None]
        self.set_in_layout(False)

    def draw(self, renderer: RendererBase) -> None:
        """Draw nothing."""


def figure_page(figure: Figure, drawing: str, shown: Bbox | None, page: PageOfFigure) -> str:
    """Return the HTML page of a figure whose layout is frozen.

    `drawing` is the figure as SVG. `shown` is the part of the plane that the drawing shows, in inches; None for the
    figure alone.
    """
    box = shown or Bbox.from_bounds(0, 0, *figure.get_size_inches())
    return template("figure.html.jinja").render(
        title=page.title,
        page=page,
        drawing=drawing[drawing.index("<svg") :],
        width=POINTS * box.width,
        height=POINTS * box.height,
        marks=list(marks_of(figure, box)),
    )


def marks_of(figure: Figure, shown: Bbox) -> Iterator[Mark]:
    """Yield the marks of all series of a figure; `shown` is the part of the plane that is seen, in inches."""
    scale, series = POINTS / figure.dpi, 0
    for axis in figure.axes:
        measured = {id(one.container): one.measured for one in axis.artists if isinstance(one, Numbers)}
        for label, drawn in _series(axis):
            series += 1
            numbers = measured.get(id(drawn), [])
            for index, (x, y, value, box) in enumerate(_points(axis, drawn)):
                number = numbers[index] if numbers else None
                text = ", ".join(filter(None, [label, *_words(axis, drawn, x, y, value, number)]))
                wide, high = (max(LEAST, scale * side) for side in (box.width, box.height))
                left = scale * (box.x0 + box.x1) / 2 - POINTS * shown.x0 - wide / 2
                top = POINTS * shown.y1 - scale * (box.y0 + box.y1) / 2 - high / 2
                yield Mark(series, text, (left, top, wide, high), number.link if number else "")


def _series(axis: Axes) -> Iterator[tuple[str, Any]]:
    """Yield the series of an axis with their labels. matplotlib's own names of artists start with an underscore."""
    artists: list[Any] = [*axis.containers, *axis.lines, *axis.collections]
    for drawn in artists:
        label = str(drawn.get_label() or "")
        if isinstance(drawn, BarContainer | ErrorbarContainer | Line2D | PathCollection) and not label.startswith("_"):
            yield label, drawn


def _points(axis: Axes, drawn: Any) -> Iterator[tuple[float, float, float, Bbox]]:
    """Yield the position of each point of a series, the value that it shows, and its box in pixels."""
    if isinstance(drawn, BarContainer):
        for bar, value in zip(drawn.patches, np.asarray(drawn.datavalues, float), strict=True):
            x, y = bar.get_x() + bar.get_width() / 2, bar.get_y() + bar.get_height() / 2
            yield x, y, float(value), bar.get_window_extent()
        return
    if isinstance(drawn, PathCollection):
        places = np.asarray(drawn.get_offsets(), float)
    else:
        curve = drawn[0] if isinstance(drawn, ErrorbarContainer) else drawn
        places = np.column_stack([np.asarray(data, float) for data in curve.get_data()])
        if curve.get_marker() in ("", "None", None, " ") and len(places) > CURVE:
            places = places[np.linspace(0, len(places) - 1, CURVE).round().astype(int)]
    for x, y in places[np.isfinite(places).all(axis=1)]:
        centre = axis.transData.transform((x, y))
        reach = REACH * axis.figure.dpi / POINTS
        yield float(x), float(y), float(y), Bbox([centre - reach, centre + reach])


def _words(axis: Axes, drawn: Any, x: float, y: float, value: float, number: Measured | None) -> Iterator[str]:
    """Yield the panel, the position, the value with its unit, its interval and its n, as far as the figure has them."""
    yield next(filter(None, (axis.get_title(side) for side in ("left", "center"))), "")
    axes: list[Axis] = [axis.xaxis, axis.yaxis]
    lie = isinstance(drawn, BarContainer) and drawn.orientation == "horizontal"
    along, across = reversed(axes) if lie else axes
    position = y if lie else x
    tick = _tick(along, position)
    # The label below all panels is of their numbers, and not of names, which a panel among them may have.
    named = _name(along) if re.fullmatch(r"[\d.eE+-]+", tick.replace(MINUS, "-")) else along.get_label_text()
    yield ": ".join(filter(None, [named, tick]))
    yield ": ".join(filter(None, [_name(across), f"{value:.4g}"]))
    if number:
        if number.ci_low < number.ci_high:
            yield f"95 % interval {number.ci_low:.4g} to {number.ci_high:.4g}"
        yield f"n = {number.n}"


def _name(axis: Axis) -> str:
    """Return the label of an axis, of the figure, or of a panel that shares the axis."""
    panel: Any = axis.axes
    letter, figure = "x" if axis is panel.xaxis else "y", panel.figure.get_figure(root=True)
    shared = getattr(panel, f"get_shared_{letter}_axes")().get_siblings(panel)
    labels = [axis.get_label_text(), getattr(figure, f"get_sup{letter}label")()]
    labels += [getattr(one, f"get_{letter}label")() for one in shared]
    return " ".join(next(filter(None, labels), "").split())


def _tick(axis: Axis, position: float) -> str:
    """Return the name of the tick at a position if ticks have names, else the position."""
    formatter, ticks = axis.get_major_formatter(), [float(place) for place in axis.get_majorticklocs()]
    if isinstance(formatter, ScalarFormatter):
        return f"{position:.4g}"
    nearest = int(np.abs(np.asarray(ticks) - position).argmin())
    return " ".join(formatter.format_ticks(ticks)[nearest].split())
