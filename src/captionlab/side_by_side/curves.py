"""Training curves of several runs over each other: validation, reward and loss by update."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from captionlab.reporting.documents.facts import VALIDATION
from captionlab.side_by_side.runs import FinishedRun
from captionlab.storage import paths
from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import read_table

KINDS = ("captioners", "encoders", "scorers")
# Statistics that are drawn beside validations, in their order.
DRAWN = ("reward", "loss")
# Most points of a curve. A point of a longer one is the mean of successive updates.
POINTS = 100
# Size of a drawing and of its margins, in units of its coordinates.
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420, 240, 56, 20, 10, 34
TICKS = 4  # number of steps of an axis, about
MOST_DECIMALS = 4  # of a tick; numbers that need more have an exponent


@dataclass(frozen=True)
class Curve:
    """A statistic of a training of a run by update."""

    run: str
    training: str
    steps: Sequence[float]
    values: Sequence[float]
    updates: int
    last: float


@dataclass(frozen=True)
class Panel:
    """A statistic of a model in all runs: its curves, the path of each in a drawing, and the ticks of both axes.

    A tick is a position and a text.
    """

    model: str
    statistic: str
    curves: Sequence[Curve]
    lines: Sequence[str]
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]


def panels(runs: Sequence[FinishedRun]) -> dict[str, list[Panel]]:
    """Return a panel for each statistic of each model that a run trained, by model.

    Trainings that differ by seed share a panel. Models that more runs trained come first.
    """
    found = defaultdict[str, dict[str, list[Curve]]](lambda: defaultdict(list))
    for run in runs:
        first = {name: model for model, names in run.trainings.items() for name in names}
        for kind in KINDS:
            for file in sorted(run.folder.glob(paths.model("training.parquet", kind, "*"))):
                name = file.parent.name
                if "@" in name:  # a snapshot, whose log is the beginning of the training
                    continue
                for statistic, curve in _curves(run.name, name, read_table(file, TRAINING).to_pylist()):
                    found[first.get(name, name)][statistic].append(curve)
    trained_by = {model: {c.run for curves in of_model.values() for c in curves} for model, of_model in found.items()}
    order = {statistic: place for place, statistic in enumerate(DRAWN)}
    return {
        model: [
            _panel(model, one, found[model][one]) for one in sorted(found[model], key=lambda s: (order.get(s, -1), s))
        ]
        for model in sorted(found, key=lambda model: -len(trained_by[model]))
    }


def _curves(run: str, training: str, log: Sequence[Mapping[str, float]]) -> Iterator[tuple[str, Curve]]:
    """Yield the curves of a training log that are drawn, after the name of the statistic.

    Values that are not finite are left out.
    """
    rows = defaultdict[str, list[tuple[float, float]]](list)
    for row in log:
        name = str(row["statistic"])
        if (name.startswith(VALIDATION) or name in DRAWN) and isfinite(row["value"]):
            rows[name].append((row["step"], row["value"]))
    for name, points in rows.items():
        steps, values = zip(*sorted(points), strict=True)
        size = -(-len(points) // POINTS)
        means = [
            [sum(part[at : at + size]) / len(part[at : at + size]) for at in range(0, len(part), size)]
            for part in (steps, values)
        ]
        yield name, Curve(run, training, means[0], means[1], int(steps[-1]), values[-1])


def _panel(model: str, statistic: str, curves: Sequence[Curve]) -> Panel:
    x_axis = _Axis([step for curve in curves for step in curve.steps], LEFT, WIDTH - RIGHT, least=1.0)
    y_axis = _Axis([value for curve in curves for value in curve.values], HEIGHT - BOTTOM, TOP)
    lines = [
        " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in zip(curve.steps, curve.values, strict=True))
        for curve in curves
    ]
    return Panel(model, statistic, curves, lines, x_axis.ticks, y_axis.ticks)


class _Axis:
    """An axis from the coordinate `start` to the coordinate `end` that holds all values.

    Its ticks are at least `least` apart.
    """

    def __init__(self, values: Sequence[float], start: float, end: float, least: float = 0.0):
        self.low, self.high = min(values), max(values)
        if self.low == self.high:
            self.low, self.high = self.low - 0.5, self.high + 0.5
        self.start, self.end, self.least = start, end, least

    def at(self, value: float) -> float:
        """Return the coordinate of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Coordinates and texts of round values."""
        raw = (self.high - self.low) / TICKS
        power = 10.0 ** floor(log10(raw))
        step = max(self.least, min((1, 2, 5, 10), key=lambda one: abs(one * power - raw)) * power)
        values = [number * step for number in range(ceil(self.low / step), floor(self.high / step) + 1)]
        decimals = max(0, -floor(log10(step)))
        return [
            (self.at(value), f"{value:.1e}" if decimals > MOST_DECIMALS else f"{value:,.{decimals}f}")
            for value in values
        ]
