"""What all figures share: how they look, colours, numbers with their intervals, and how they are saved."""

import json
from collections.abc import Mapping
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from captionlab.files import replacing
from captionlab.provenance import current
from captionlab.reporting.runs import Measured

Style = Mapping[str, Any]
# Numbers by their place on an axis; those that were not measured are not drawn.
Points = Mapping[float, Measured | None]
# Where a legend stands above its panel.
ABOVE: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}


def look(style: Style) -> dict[Any, Any]:
    """The settings of matplotlib that all figures of a paper are drawn with."""
    return {
        "font.size": style["font_size"], "axes.titlesize": "medium", "figure.labelsize": "medium",
        "legend.frameon": False, "figure.constrained_layout.use": True,
    }  # fmt: skip


def colour_of(style: Style, index: int) -> str:
    """The colour of the captioner, or whatever is told apart, with this number."""
    return str(style["colours"][index % len(style["colours"])])


def panels(number: int, columns: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    """A figure, so wide in inches and each row so high, and so many panels, some in a row."""
    rows = -(-number // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width, height * rows), squeeze=False)
    for axis in axes.flat[number:]:
        axis.set_axis_off()
    return figure, axes.flat[:number]


def bars(axis: Axes, points: Points, width: float, label: str, colour: str) -> None:
    """Bars with intervals."""
    places, values, errors = _measured(points)
    error = {"elinewidth": 0.8, "capsize": 2, "ecolor": "#333333"}
    axis.bar(places, values, width, yerr=errors, label=label, color=colour, error_kw=error)


def line(axis: Axes, points: Points, label: str, colour: str, **drawn: Any) -> None:
    """Points with intervals, and a line through them where `drawn` does not say otherwise."""
    places, values, errors = _measured(points)
    usual: dict[str, Any] = {"fmt": "o-", "markersize": 3, "linewidth": 1.0, "capsize": 2}
    axis.errorbar(places, values, errors, label=label, color=colour, **{**usual, **drawn})


def _measured(points: Points) -> tuple[list[float], list[float], list[list[float]]]:
    """Places, values and distances to the ends of their intervals, of points that were measured."""
    there = {x: one for x, one in points.items() if one is not None}
    below = [max(0.0, one.value - one.ci_low) for one in there.values()]
    above = [max(0.0, one.ci_high - one.value) for one in there.values()]
    return [*there], [one.value for one in there.values()], [below, above]


def save(figure: Figure, path: str, style: Style) -> None:
    """Write beside and rename; the file says which job drew it, and has no time stamp."""
    notes = {"Software": None, "Description": json.dumps(current(), sort_keys=True)}
    with replacing(path) as partial:
        figure.savefig(partial, dpi=style["dots_per_inch"], format="png", metadata=notes)
    plt.close(figure)
