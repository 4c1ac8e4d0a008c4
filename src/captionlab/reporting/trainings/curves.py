"""Curves of a training log as SVG, thinned to what a page can show."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from captionlab.reporting.documents.facts import VALIDATION, AnyPath
from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import read_table

# Size of a chart in its own units, and the margins for the labels of the axes.
WIDTH, HEIGHT = 480, 200
LEFT, RIGHT, TOP, BOTTOM = 66, 8, 10, 24
# Buckets of updates in a chart with one curve; several curves share twice as many.
BUCKETS, SHARED, FEWEST = 240, 480, 12
# Statistics in the order of a page; all others follow as in the log.
FIRST = ("loss", "reward", "accuracy", VALIDATION, "learning_rate")
# A curve with at most so many points shows each point as a dot.
DOTS = 40

Curve = tuple[np.ndarray, np.ndarray]  # updates and values


@dataclass(frozen=True)
class Line:
    """A curve of one training in a chart: recorded points, at most two for each bucket, and their SVG path."""

    training: str
    points: Sequence[tuple[int, float]]
    path: str
    dots: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Tick:
    """A mark of an axis: its place in the chart and its text."""

    place: float
    text: str


@dataclass(frozen=True)
class Chart:
    """The curves of one statistic, one for each training, with axes, in units of the chart."""

    statistic: str
    lines: Sequence[Line]
    steps: tuple[float, float]  # updates at the left and at the right edge
    values: tuple[float, float]  # values at the lower and at the upper edge
    across: Sequence[Tick]
    up: Sequence[Tick]
    marks: Sequence[Tick]  # updates with a name, such as snapshots

    @property
    def title(self) -> str:
        """Return the statistic in words."""
        words = self.statistic.removeprefix(VALIDATION).replace("_", " ")
        return f"validation: {words}" if self.statistic.startswith(VALIDATION) else words

    @property
    def recorded(self) -> list[dict[str, object]]:
        """Return the points of each curve, with six digits, as data of the page."""
        return [
            {
                "training": line.training,
                "steps": [step for step, _ in line.points],
                "values": [float(f"{value:.6g}") for _, value in line.points],
            }
            for line in self.lines
        ]

    @property
    def thinned(self) -> bool:
        """Return whether a curve has so many points that some may have been left out."""
        return any(len(line.points) > FEWEST for line in self.lines) and self.steps[1] - self.steps[0] > BUCKETS


def read_curves(path: AnyPath) -> dict[str, Curve]:
    """Return the updates and the values of each statistic of a training log, without values that are not finite."""
    table = read_table(path, TRAINING, ["step", "statistic", "value"])
    curves = {}
    for statistic in pc.unique(table["statistic"]).to_pylist():
        rows = table.filter(pc.equal(table["statistic"], statistic))
        steps, values = (rows[name].to_numpy() for name in ("step", "value"))
        finite = np.isfinite(values)
        curves[statistic] = steps[finite], values[finite]
    return {name: curve for name, curve in curves.items() if len(curve[0])}


def ordered(statistics: Iterable[str]) -> list[str]:
    """Return statistics without repetitions, the ones that people look at first."""
    names = list(dict.fromkeys(statistics))
    places = {name: next((n for n, start in enumerate(FIRST) if name.startswith(start)), len(FIRST)) for name in names}
    return sorted(names, key=places.__getitem__)


def thinned(steps: np.ndarray, values: np.ndarray, buckets: int) -> np.ndarray:
    """Return the rows of a curve to show: the smallest and the largest value of each bucket of updates, and both ends.

    `steps` must rise. Of equal values the first is taken. A curve with at most two points for each bucket is complete.
    """
    if len(steps) <= 2 * buckets:
        return np.arange(len(steps))
    bucket = (steps - steps[0]) * buckets // (steps[-1] - steps[0] + 1)
    ends = [0, len(steps) - 1]
    for sign in (1, -1):
        order = np.lexsort((sign * values, bucket))  # stable: the first of equal values comes first
        ends.extend(order[np.flatnonzero(np.diff(bucket[order], prepend=-1))])
    return np.unique(ends)


def chart_of(statistic: str, curves: Mapping[str, Curve], marks: Mapping[str, int] | None = None) -> Chart:
    """Return the chart of a statistic of one or several trainings.

    `curves` maps a training to its updates and values. `marks` maps names to updates.
    """
    buckets = max(FEWEST, min(BUCKETS, SHARED // len(curves)))
    kept = {name: (steps[rows], values[rows]) for name, (steps, values) in curves.items()
            for rows in [thinned(steps, values, buckets)]}  # fmt: skip
    every = [np.concatenate(parts) for parts in zip(*kept.values(), strict=True)]
    (first, last), (low, high) = ((float(part.min()), float(part.max())) for part in every)
    up = _ticks(low, high, 4)
    low, high = min(low, up[0]), max(high, up[-1])
    across = [step for step in _ticks(min(first, 0.0), last, 5) if first <= step <= last and step == round(step)]

    def x(step: float) -> float:
        return _scaled(step, (first, last), (LEFT, WIDTH - RIGHT))

    def y(value: float) -> float:
        return _scaled(value, (low, high), (HEIGHT - BOTTOM, TOP))

    lines = []
    for name, (steps, values) in kept.items():
        places = [(x(step), y(value)) for step, value in zip(steps.tolist(), values.tolist(), strict=True)]
        path = "M" + "L".join(f"{left:.1f} {top:.1f}" for left, top in places)
        points = list(zip(steps.tolist(), values.tolist(), strict=True))
        lines.append(Line(name, points, path, places if len(places) <= DOTS else []))
    return Chart(
        statistic,
        lines,
        (first, last),
        (low, high),
        [Tick(x(step), f"{step:,.0f}") for step in across],
        [Tick(y(value), f"{value:g}") for value in up],
        [Tick(x(step), name) for name, step in (marks or {}).items() if first <= step <= last],
    )


def _scaled(value: float, source: tuple[float, float], target: tuple[float, float]) -> float:
    """Return a value of one range in another; the middle, if the range is a point."""
    share = (value - source[0]) / (source[1] - source[0]) if source[1] > source[0] else 0.5
    return round(target[0] + share * (target[1] - target[0]), 2)


def _ticks(low: float, high: float, count: int) -> list[float]:
    """Return about `count` round numbers around a range, at equal distances."""
    if high <= low:
        return [low]
    rough = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    distance = unit * next(factor for factor in (1, 2, 2.5, 5, 10) if factor * unit >= rough * (1 - 1e-9))
    first, last = math.floor(low / distance + 1e-9), math.ceil(high / distance - 1e-9)
    return [float(f"{number * distance:.12g}") for number in range(first, last + 1)]
