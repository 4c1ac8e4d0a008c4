"""Values of metrics with their intervals, from scores of single captions, and differences from the parent captioner.

Every metric is a function of sums over images, so one resampling of the sums gives the intervals of all metrics. The
metrics themselves are in captionlab.evaluation.metrics.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from captionlab.plugins import work_module
from captionlab.statistics.intervals import (
    Ends,
    bootstrap_interval,
    bootstrap_p_value,
    bootstrap_share_interval,
    difference_bounds,
    mcnemar_p_value,
    paired_share_interval,
    resampled_sums,
    seeds_interval,
    share_interval,
)
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTION_KEY, COMPARISONS, SUMMARY
from captionlab.storage.tables import read_schema

# Trainings of a captioner that differ by their seed, by captioner.
Names = Mapping[str, Sequence[str]]
# The column that counts the captions of an image.
CAPTIONS = "captions"
# Which values of a metric are better; NEITHER for metrics such as length.
HIGHER, LOWER, NEITHER = 1, -1, 0


@dataclass(frozen=True)
class Metric:
    """A metric: the column to sum, and the function from sums (..., width) over (...) captions to its value (...)."""

    column: str
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    bounds: Ends  # of its values as they are printed
    scale: float = 100.0
    share: bool = False  # whether it is a share: of the captions if the value is a mean, else of items of the captions
    better: int = HIGHER

    def shares(self, sums: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Return the share that each image contributes (images,), or None if the metric is not a share of the captions.

        The share of an image is the sum of its captions that count, divided by the mean number of captions per image.
        `sums` has columns (images, width) of `sums_of_images`.
        """
        if not self.share or self.value is not mean:
            return None
        return np.asarray(sums[self.column][:, 0] * len(sums[CAPTIONS]) / sums[CAPTIONS].sum())


def mean(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return the mean (...) of a column of width 1."""
    return sums[..., 0] / captions


@dataclass(frozen=True)
class Job:
    """A captioner in an evaluation."""

    captioner: str
    evaluation: str
    decoding: str
    splits: Mapping[str, str]  # the evaluated split of each corpus
    device: str = ""  # on which its captions and scores were computed
    factors: Mapping[str, float] = field(default_factory=dict)  # by scorer or metric: scores are multiplied by them
    bounds: Mapping[str, Ends] = field(default_factory=dict)  # by scorer: bounds of its multiplied scores


@dataclass(frozen=True)
class Result:
    """A metric of a captioner on a corpus: its value, the resampled values, its images in order and its captions."""

    job: Job
    corpus: str
    retriever: str | None
    candidates: str | None
    metric: str
    value: float
    resampled: np.ndarray
    images: tuple[str, ...]
    captions: int
    bounds: Ends
    # If the metric is a share of the captions: (images,), captions of an image that count over captions per image.
    shares: np.ndarray | None = None
    share: bool = False  # whether the metric is a share, of the captions or of their items

    @property
    def place(self) -> tuple[str, str, str | None, str | None, str]:
        """Return what two results must share to be compared: evaluation, corpus, retriever, candidates and metric."""
        return self.job.evaluation, self.corpus, self.retriever, self.candidates, self.metric

    def check_images(self, other: "Result") -> None:
        """Raise ValueError if another result, to be compared with this result, is on different images."""
        if self.images != other.images:
            apart = min(set(self.images) ^ set(other.images))
            raise ValueError(
                f"{self.job.captioner} and {other.job.captioner} are to be compared and were evaluated on different "
                f"images of {self.corpus} ({self.metric}): only one of them has {apart!r}"
            )


@dataclass(frozen=True)
class OfCaptions:
    """A metric of single captions: its values (n,) and the key (corpus, image, index) of each caption.

    `scorer` is the model that scores, if the metric has one.
    """

    metric: str
    scorer: str | None
    keys: Sequence[tuple[str, str, int]]
    values: np.ndarray
    scale: float = 100.0  # values are multiplied by it when they are printed
    captioner: str | None = None  # if the table has several captioners
    notes: Sequence[str | None] = ()  # (n,) what the scorer says of each caption, if it says anything


def scored_in(path: str) -> list[tuple[str, str]]:
    """Return the captioner and evaluation of all captions that a table scores.

    The table of a whole evaluation has its captioners in a column. Every other table lies in the folder of its
    captioner.
    """
    if "captioner" not in read_schema(path).names:
        return [paths.captioner_of(path)]
    with pq.ParquetFile(path) as file:
        captioners = pc.unique(file.read(["captioner"])["captioner"]).to_pylist()
    return [(captioner, Path(path).stem) for captioner in captioners]


def of_captions(table: str, path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Return the metrics of single captions in a table of scores; `table` is the name of the table."""
    found: Iterator[OfCaptions] = import_module(work_module("evaluation.metrics", table)).of_captions(path, factors)
    return found


def caption_values(
    scores: pa.Table,
    columns: Mapping[str, str],
    scorer: str | None = None,
    scale: float = 100.0,
    captioner: str | None = None,
    notes: str = "",
) -> Iterator[OfCaptions]:
    """Yield columns of a table of scores as metrics of single captions. Captions without a value are left out.

    `columns` maps each metric to its column. `notes` is the column with what the scorer says of each caption, if any.
    """
    for metric, column in columns.items():
        scored = scores.filter(pc.is_valid(scores[column]))
        keys = list(zip(*(scored[name].to_pylist() for name in CAPTION_KEY), strict=True))
        values, texts = scored[column].to_numpy().astype(np.float64), scored[notes].to_pylist() if notes else ()
        yield OfCaptions(metric, scorer, keys, values, scale, captioner, texts)


def counted_values(scores: pa.Table, metrics: Mapping[str, Metric]) -> Iterator[OfCaptions]:
    """Yield metrics of single captions from a table with counts for each caption, by the formulas of the metrics."""
    keys = list(zip(*(scores[name].to_pylist() for name in CAPTION_KEY), strict=True))
    for name, metric in metrics.items():
        yield OfCaptions(name, None, keys, metric.value(matrix(scores[metric.column]), np.ones(len(keys))))


def caption_results(job: Job, scores: pa.Table, seed: int, metrics: Mapping[str, Metric]) -> Iterator[Result]:
    """Yield the results, by corpus, of a table with a row for each caption and a column for each metric."""
    for (corpus,), part in parts(scores, "corpus"):
        columns = {metric.column: matrix(part[metric.column]) for metric in metrics.values()}
        images, sums = sums_of_images(part, columns)
        for name, value, resampled in aggregate(sums, metrics, seed):
            metric, of = metrics[name], (job, corpus, None, None, name, value, resampled, images, len(part))
            yield Result(*of, metric.bounds, metric.shares(sums), metric.share)


def summary_columns(results: Iterable[Result], trainings: Names) -> dict[str, list[Any]]:
    """Return the columns of the SUMMARY table.

    `trainings` maps a captioner to all captioners that differ from it by their seed alone, itself first. Such a
    captioner has a row of its own, and a row for the mean over its trainings. Raises ValueError if the trainings were
    evaluated on different images.
    """
    every = _by_place(results)
    rows = []
    for found in [[result] for result in every.values()] + _over_trainings(every, trainings):
        value, low, high = mean_interval(found)
        number = {"value": value, "ci_low": low, "ci_high": high}
        rows.append({**_where(found), **number, "n": len(found[0].images)})
    return {name: [row[name] for row in rows] for name in SUMMARY.columns}


def comparison_columns(
    results: Iterable[Result], parents: Mapping[str, str | None], ends: Mapping[str, str], trainings: Names
) -> dict[str, list[Any]]:
    """Return the columns of the COMPARISONS table: each captioner against its parent, if an evaluation has both.

    Each snapshot in `ends` is also compared with the end of its training. The mean differences over the `trainings` of
    a captioner come first. Raises ValueError if two compared captioners were evaluated on different images.
    """
    found = _by_place(results)
    rows = [*_mean_differences(found, (parents, ends), trainings)]
    pairs = [(place, result, of.get(name)) for (name, place), result in found.items() for of in (parents, ends)]
    for place, result, against in pairs:
        if against is None or (against, place) not in found:
            continue
        other = found[against, place]
        rows.append({**_where([result]), "against": against, **compared(result, other)})
    return {name: [row[name] for row in rows] for name in COMPARISONS.columns}


def compared(result: Result, other: Result) -> dict[str, Any]:
    """Return the columns of COMPARISONS about the difference of two results: its value, interval and test, and n.

    P@1 of one caption per image is tested by the exact test of McNemar, every other metric by the paired bootstrap over
    images. Raises ValueError if the results are on different images.
    """
    result.check_images(other)
    low, high = paired_interval([result], [[other]])
    shares = [one.shares > 0 for one in (result, other) if one.shares is not None]
    if result.metric == "P@1" and result.captions == other.captions == len(result.images):
        test, p_value = "exact McNemar", mcnemar_p_value(*shares)
    else:
        # Differences below a thousandth of a point come from BLEU's smoothing constants alone.
        test, p_value = "paired bootstrap", bootstrap_p_value((result.resampled - other.resampled).round(3))
    difference = {"difference": result.value - other.value, "ci_low": low, "ci_high": high}
    return {**difference, "p_value": p_value, "test": test, "n": len(result.images)}


def _by_place(results: Iterable[Result]) -> dict[tuple[str, Any], Result]:
    """Return the results by captioner and place. Raises ValueError if two metrics of an evaluation share a name."""
    found: dict[tuple[str, Any], Result] = {}
    for result in results:
        if found.setdefault((result.job.captioner, result.place), result) is not result:
            where = f"the evaluation {result.job.evaluation!r} has two metrics that are called {result.metric!r}"
            raise ValueError(f"{where}; rename the metric in the section `metrics` or `judges` of the config")
    return found


def _over_trainings(found: Mapping[Any, Result], trainings: Names) -> list[list[Result]]:
    """Return the results of all trainings of a captioner, for each captioner and place that has them complete."""
    return [
        [found[name, place] for name in names]
        for (captioner, place), _ in found.items()
        if (names := trainings.get(captioner)) and all((name, place) in found for name in names)
    ]


def _mean_differences(
    found: Mapping[Any, Result], lines: Sequence[Mapping[str, str | None]], trainings: Names
) -> Iterator[dict[str, Any]]:
    """Yield the rows of COMPARISONS of captioners with several trainings.

    Each training is compared with its own parent.
    """
    first = {name: captioner for captioner, names in trainings.items() for name in names}
    for results, of in product(_over_trainings(found, trainings), lines):
        others = [found.get((of.get(one.job.captioner), one.place)) for one in results]
        partners = [other for other in others if other is not None]
        against = {first.get(other.job.captioner, other.job.captioner) for other in partners}
        if len(partners) < len(results) or len(against) > 1:
            continue
        for one, other in zip(results, partners, strict=True):
            one.check_images(other)
        apart = np.array([one.value - other.value for one, other in zip(results, partners, strict=True)])
        over_images = paired_interval(results, [[other] for other in partners])
        value, low, high = seeds_interval(apart, over_images, difference_bounds(results[0].bounds))
        number = {"difference": value, "ci_low": low, "ci_high": high, "p_value": None, "test": None}
        yield {**_where(results), "against": against.pop(), **number, "n": len(results[0].images)}


def mean_interval(results: Sequence[Result]) -> tuple[float, float, float]:
    """Return the mean of a metric over trainings and the ends of its interval (`seeds_interval`)."""
    for other in results[1:]:
        results[0].check_images(other)
    if len(results) == 1:
        return (results[0].value, *images_interval(results))
    values = np.array([one.value for one in results])
    return seeds_interval(values, images_interval(results), results[0].bounds)


def images_interval(results: Sequence[Result]) -> Ends:
    """Return the ends of the interval over images of a metric, or of its mean over trainings on the same images."""
    resampled, images = np.mean([one.resampled for one in results], axis=0), len(results[0].images)
    value = float(np.mean([one.value for one in results]))
    if results[0].shares is not None:
        units = sum(one.captions for one in results)
        low, high = share_interval(value / 100, float(np.var(resampled / 100)), images, units)
        return 100 * low, 100 * high
    if results[0].share:
        return bootstrap_share_interval(value, resampled, images, results[0].bounds)
    return bootstrap_interval(value, resampled, results[0].bounds)


def paired_interval(results: Sequence[Result], others: Sequence[Sequence[Result]]) -> Ends:
    """Return the ends of the interval, over images, of the mean difference of results from the means of their others.

    All results must have been computed on the same images.
    """
    if results[0].shares is not None:
        low, high = paired_share_interval(_paired(results, others, "shares"))
        return 100 * low, 100 * high
    # Differences below a thousandth of a point come from BLEU's smoothing constants alone.
    differences = _paired(results, others, "resampled").round(3)
    difference, bounds = float(_paired(results, others, "value")), difference_bounds(results[0].bounds)
    if results[0].share:
        return bootstrap_share_interval(difference, differences, len(results[0].images), bounds)
    return bootstrap_interval(difference, differences, bounds)


def _paired(results: Sequence[Result], others: Sequence[Sequence[Result]], field: str) -> np.ndarray:
    """Return how far a field of the results lies above the mean of their others, on average over the results."""
    means = [np.mean([getattr(other, field) for other in of_one], axis=0) for of_one in others]
    return np.asarray(np.mean(np.array([getattr(one, field) for one in results]) - np.array(means), axis=0))


def sums_of_images(table: pa.Table, columns: Mapping[str, np.ndarray]) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Return the image ids in order, and the sums of each column over the captions of each image (images, width).

    The column `captions` (images, 1) is the number of captions of each image.
    """
    images, index = np.unique(np.array(table["image_id"].to_pylist(), dtype=object), return_inverse=True)
    sums = {}
    for name, column in {CAPTIONS: np.ones((len(index), 1)), **columns}.items():
        sums[name] = np.zeros((len(images), column.shape[1]))
        np.add.at(sums[name], index, column)
    return tuple(images), sums


def aggregate(
    sums: Mapping[str, np.ndarray], metrics: Mapping[str, Metric], seed: int
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield the name, the value and the resampled values of each metric, from columns (images, width) of sums."""
    everything = np.concatenate(list(sums.values()), axis=1)
    totals = np.concatenate([everything.sum(axis=0, keepdims=True), resampled_sums(everything, seed)])
    ends = np.cumsum([column.shape[1] for column in sums.values()])
    parts = dict(zip(sums, np.split(totals, ends[:-1], axis=1), strict=True))
    for name, metric in metrics.items():
        values = metric.scale * metric.value(parts[metric.column], parts[CAPTIONS][:, 0])
        yield name, float(values[0]), values[1:]


def matrix(column: pa.ChunkedArray) -> np.ndarray:
    """Return a column of numbers as (n, 1), or a column of lists as (n, width)."""
    if pa.types.is_fixed_size_list(column.type):
        flat = pc.list_flatten(column).to_numpy()
        return flat.reshape(len(column), column.type.list_size).astype(np.float64)
    return column.to_numpy().astype(np.float64)[:, None]


def parts(table: pa.Table, *names: str) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
    """Yield the rows with the same values in these columns, after the values, in order of first occurrence."""
    for values in dict.fromkeys(zip(*(table[name].to_pylist() for name in names), strict=True)):
        same = reduce(pc.and_, (pc.equal(table[name], value) for name, value in zip(names, values, strict=True)))
        yield values, table.filter(same)


def _where(results: Sequence[Result]) -> dict[str, Any]:
    """Return the columns that identify a row, from the results of one captioner or of its trainings, itself first."""
    first = results[0]
    of_job = {name: getattr(first.job, name) for name in ("captioner", "evaluation", "decoding")}
    own = {name: getattr(first, name) for name in ("corpus", "retriever", "candidates", "metric")}
    devices = ", ".join(dict.fromkeys(one.job.device for one in results))
    return {**of_job, **own, "split": first.job.splits[first.corpus], "seeds": len(results), "device": devices}
