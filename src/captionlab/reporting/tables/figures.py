"""Drawing functions that all figures share: style, colours, points and bars with intervals, and saving."""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from textwrap import fill
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path
from matplotlib.transforms import Bbox

from captionlab.config.plotting import Style
from captionlab.jobs.provenance import current
from captionlab.reporting.paper import FIGURE_FILES
from captionlab.reporting.runs.values import Measured
from captionlab.reporting.tables.figure_pages import Numbers, PageOfFigure, figure_page
from captionlab.storage.files import replacing

# Draws a figure for a width in inches.
Draw = Callable[[float], Figure]
# Numbers by their position on an axis. Numbers that were not measured (None) are not drawn.
Points = Mapping[float, Measured | None]
# Style of lines that show no data, for example the line at 0.
FAINT: dict[str, Any] = {"color": "#888888", "linewidth": 0.6}
# Width of a line beside a legend's text, in heights of letters: the longest dashes show beside a marker. The second
# includes the space around it.
HANDLE = 3.6
HANDLE_AND_SPACE = HANDLE + 2.1
# Letters of a title that fit on an inch.
LINE = 14


@dataclass(frozen=True)
class Look:
    """How a series is drawn. Series differ in colour, and for greyscale prints also in marker, dashes and hatch."""

    colour: str
    marker: str
    dashes: tuple[int, tuple[float, ...]]
    hatch: str


def looks(style: Style, names: Iterable[str], colours: str = "captioners") -> dict[str, Look]:
    """Return a look for each name, by the order of the names. `colours` names the palette in the style."""

    def of(what: str, index: int) -> Any:
        entries = getattr(style, what)
        return entries[index % len(entries)]

    return {
        name: Look(of(colours, i), of("markers", i), (0, tuple(of("dashes", i))), of("hatches", i))
        for i, name in enumerate(dict.fromkeys(names))
    }


def looking(style: Style) -> AbstractContextManager[None]:
    """Return a context in which everything is drawn and saved in the style of a paper's figures."""
    sizes = {f"{what}.labelsize": style.small_size for what in ("xtick", "ytick")}
    thin = {f"{what}.major.width": 0.6 for what in ("xtick", "ytick")}
    settings: dict[Any, Any] = {
        **sizes, **thin, "font.family": [*style.fonts], "font.size": style.font_size, "axes.titlesize": "medium",
        "figure.labelsize": "medium", "legend.fontsize": style.small_size, "legend.frameon": False,
        "figure.constrained_layout.use": True, "axes.spines.top": False, "axes.spines.right": False,
        "axes.linewidth": 0.6, "hatch.linewidth": 0.6,
        "text.hinting": "none",  # letters as wide as in print, whatever the resolution
        # Names and captions may contain dollar signs. Journals refuse Type 3 fonts, the default. Ids must not be
        # random.
        "text.parse_math": False, "pdf.fonttype": 42, "svg.hashsalt": "captionlab",
    }  # fmt: skip
    return plt.rc_context(settings)


def panels(number: int, width: float, height: float, narrowest: float, **shared: Any) -> tuple[Figure, np.ndarray]:
    """Return a figure and its panels, with as many panels in a row as fit.

    `width` is the width of the figure, `height` the height of each row, `narrowest` the least width of a panel, all in
    inches. The rows have about the same number of panels. `shared` is passed to `plt.subplots`.
    """
    columns = max(1, min(number, int(width / narrowest)))
    columns = -(-number // -(-number // columns))  # for example, five panels are split into 3 + 2 rather than 4 + 1
    rows = -(-number // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width, height * rows), squeeze=False, **shared)
    for axis in axes.flat[number:]:
        axis.set_axis_off()
    return figure, axes.flat[:number]


def side_by_side(number: int, width: float = 0.8) -> list[float]:
    """Return the offsets of `number` marks that stand side by side at a position on an axis, centred on 0."""
    return [(index - (number - 1) / 2) * width / number for index in range(number)]


def bars(axis: Axes, points: Points, width: float, label: str, look: Look, **drawn: Any) -> Any:
    """Draw bars with intervals. The page of the figure shows the numbers with their n and their captions."""
    places, values, errors = _measured(points)
    error = {"elinewidth": 0.7, "capsize": 1.5, "capthick": 0.7, "ecolor": "#222222"}
    usual = {"color": look.colour, "hatch": look.hatch, "edgecolor": "white", "linewidth": 0.0}
    container = axis.bar(places, values, width, yerr=errors, label=label, error_kw=error, **{**usual, **drawn})
    axis.add_artist(Numbers(container, points))
    return container


def line(axis: Axes, points: Points, label: str, look: Look, **drawn: Any) -> None:
    """Draw points with intervals and a line through them; `drawn` overrides the style.

    The page of the figure shows the numbers with their n and their captions.
    """
    places, values, errors = _measured(points)
    usual = {"color": look.colour, "marker": look.marker, "linestyle": look.dashes, "markersize": 4}
    thin = {"linewidth": 1.1, "elinewidth": 0.8, "capsize": 1.5, "markeredgewidth": 0.8}
    container = axis.errorbar(places, values, errors, label=label, **{**usual, **thin, **drawn})
    axis.add_artist(Numbers(container, points))


def _measured(points: Points) -> tuple[list[float], list[float], list[list[float]]]:
    """Return positions, values and distances to the interval ends of the points that were measured."""
    there = {x: one for x, one in points.items() if one is not None}
    below = [max(0.0, one.value - one.ci_low) for one in there.values()]
    above = [max(0.0, one.ci_high - one.value) for one in there.values()]
    return [*there], [one.value for one in there.values()], [below, above]


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """Return the width of a text in inches; `size` is the font size in points."""
    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size, weight=weight), False)
    return float(width) / 72


def legend(figure: Figure, style: Style, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Draw a legend above all panels, with as many entries in a row as fit."""
    width = figure.get_figwidth()
    widest = HANDLE_AND_SPACE * style.small_size / 72 + max(
        (text_width(label, style.small_size) for label in labels), default=0.0
    )
    columns = max(1, min(len(labels), int(width / widest)))
    columns = -(-len(labels) // -(-len(labels) // columns)) if labels else 1
    figure.legend(handles, labels, loc="outside upper center", ncols=columns, handlelength=HANDLE, columnspacing=1.0)


def lay_out(figure: Figure) -> None:
    """Compute the layout of the figure and freeze it, so that all file formats have the same layout."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def write_above(figure: Figure, title: str, style: Style) -> None:
    """Write a title above a figure whose layout is frozen. The figure must be saved with `bbox_inches="tight"`."""
    for entries in figure.legends:  # they would move to the new edge of the figure
        entries.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)
    lines = fill(title, round(LINE * figure.get_figwidth()))
    figure.text(0.5, 1.0, lines, ha="center", va="bottom", fontsize=style.small_size)


def save(
    draw: Draw, files: Sequence[str], style: Style, page: PageOfFigure | None = None, caveats: Sequence[str] = ()
) -> None:
    """Write a figure to each of its files; `page` says what its HTML page links to.

    Each file is written as a whole. Its metadata names the job that drew it and has no time stamp. Caveats on all
    numbers of the run are its title.
    """
    figures = {width: draw(width) for width in dict.fromkeys(style.widths.values())}
    for figure in figures.values():
        lay_out(figure)
        if caveats:
            write_above(figure, "; ".join(caveats), style)
    for (ending, width), path in zip(FIGURE_FILES.items(), files, strict=True):
        figure, kind = figures[style.widths[width]], ending.rpartition(".")[2]
        shown = _shown(figure) if caveats else None
        with replacing(path) as partial:
            if kind == "html":
                drawing = _rendered(figure, "svg", style, shown).decode()
                partial.write_text(figure_page(figure, drawing, shown, page or PageOfFigure(partial.stem)), "utf-8")
            else:
                partial.write_bytes(_rendered(figure, kind, style, shown))
    for figure in figures.values():
        plt.close(figure)


def _shown(figure: Figure) -> Bbox:
    """Return the part of the plane, in inches, that all of the figure and a margin are in."""
    return figure.get_tightbbox().padded(plt.rcParams["savefig.pad_inches"])


def _rendered(figure: Figure, kind: str, style: Style, shown: Bbox | None) -> bytes:
    """Return the content of a file of the figure. Its metadata names the job that drew it and has no time stamp."""
    made = json.dumps(current(), sort_keys=True)
    metadata: dict[str, dict[str, Any]] = {
        "png": {"Software": None, "Description": made},
        "pdf": {"Creator": None, "Producer": None, "CreationDate": None, "Subject": made},
        "svg": {"Creator": None, "Date": None, "Description": made},
    }
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=style.dots_per_inch, metadata=metadata[kind], bbox_inches=shown)
    return content.getvalue()
