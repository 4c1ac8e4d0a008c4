"""Values of metrics with their intervals, from scores of single captions, and differences from the parent captioner.

Every metric is a function of sums over images, so one resampling of the sums gives the intervals of all metrics. The
metrics themselves are in captionlab.evaluation.metrics.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

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
from captionlab.statistics.multiple import holm
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTION_KEY, COMPARISONS, SUMMARY
from captionlab.storage.tables import read_schema

Key = TypeVar("Key")
# Trainings of a captioner that differ by their seed, by captioner.
Names = Mapping[str, Sequence[str]]
# Pairs of captioners, of which the first is compared with the second.
Pairs = Sequence[Sequence[str]]
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
        `sums` has columns (images, width) of `ScoredRows.sums`.
        """
        if not self.share or self.value is not mean:
            return None
        return np.asarray(sums[self.column][:, 0] * len(sums[CAPTIONS]) / sums[CAPTIONS].sum())


def mean(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return the mean (...) of a column of width 1."""
    return sums[..., 0] / captions


@dataclass(frozen=True)
class ScoredRows:
    """Rows of a table of scores on a corpus, each about a caption, with the columns that metrics sum up."""

    images: tuple[str, ...]  # image ids in order
    image: np.ndarray  # (rows,) position of the image of each row
    caption: np.ndarray  # (rows,) index of the caption among the captions of its image
    columns: Mapping[str, np.ndarray]  # each (rows, width)

    def sums(self) -> dict[str, np.ndarray]:
        """Return the sums of each column over the rows of each image, (images, width).

        The column `captions` (images, 1) is the number of rows of each image.
        """
        sums = {}
        for name, column in {CAPTIONS: np.ones((len(self.image), 1)), **self.columns}.items():
            sums[name] = np.zeros((len(self.images), column.shape[1]))
            np.add.at(sums[name], self.image, column)
        return sums

    def restricted(self, kept: np.ndarray) -> "ScoredRows":
        """Return the rows where `kept` (rows,) is true. Images without such a row are left out."""
        positions, image = np.unique(self.image[kept], return_inverse=True)
        columns = {name: column[kept] for name, column in self.columns.items()}
        return ScoredRows(tuple(self.images[one] for one in positions.tolist()), image, self.caption[kept], columns)


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
    rows: "ScoredRows | None" = None  # if the metric is a function of sums of these rows
    formula: Metric | None = None  # of the sums

    @property
    def place(self) -> tuple[str, str, str | None, str | None, str]:
        """Return what two results must share to be compared: evaluation, corpus, retriever, candidates and metric."""
        return self.job.evaluation, self.corpus, self.retriever, self.candidates, self.metric

    @property
    def is_defined(self) -> bool:
        """Return whether the value and all resampled values are numbers. The perplexity of empty captions is none."""
        return bool(np.isfinite(self.value) and np.isfinite(self.resampled).all())

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
    """Yield the results, by corpus, of a table with a row for each caption and a column for each metric.

    A metric whose column is empty on a corpus has no result there.
    """
    for (corpus,), part in parts(scores, "corpus"):
        there = {name: metric for name, metric in metrics.items() if part[metric.column].null_count < len(part)}
        columns = {metric.column: matrix(part[metric.column]) for metric in there.values()}
        yield from rows_results(job, (corpus, None, None), scored_rows(part, columns), there, seed)


def rows_results(
    job: Job,
    place: tuple[str, str | None, str | None],
    rows: ScoredRows,
    metrics: Mapping[str, Metric],
    seed: int,
) -> Iterator[Result]:
    """Yield the results of metrics from rows of scores; `place` is the corpus, the retriever and the candidates."""
    sums = rows.sums()
    for name, value, resampled in aggregate(sums, metrics, seed):
        metric, of = metrics[name], (job, *place, name, value, resampled, rows.images, len(rows.image))
        yield Result(*of, metric.bounds, metric.shares(sums), metric.share, rows, metric)


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
    results: Iterable[Result],
    parents: Mapping[str, str | None],
    ends: Mapping[str, str],
    trainings: Names,
    pairs: Mapping[str, Pairs] | None = None,
) -> dict[str, list[Any]]:
    """Return the columns of the COMPARISONS table: each captioner against its parent, if an evaluation has both.

    Each snapshot in `ends` is also compared with the end of its training, and each evaluation in `pairs` has pairs of
    captioners, of which the first is compared with the second. Captioners with several `trainings` are compared
    training by training; their mean differences come first. Raises ValueError if two compared captioners were evaluated
    on different images.
    """
    found = _by_place(results)
    rows, asked = list[dict[str, Any]](), list[dict[str, Any]]()
    lines = [(None, _known(parents)), (None, ends), *_lines_of_pairs(pairs or {}, parents, ends, trainings)]
    for evaluation, line in lines:
        rows += _mean_differences(found, line, trainings, evaluation)
        for (captioner, place), result in found.items():
            against = line.get(captioner) if evaluation in (None, result.job.evaluation) else None
            if against is not None and (against, place) in found:
                asked.append({**_where([result]), "against": against, **compared(result, found[against, place])})
    return {name: [row[name] for row in [*rows, *_corrected(asked)]] for name in COMPARISONS.columns}


def _known(line: Mapping[str, str | None]) -> dict[str, str]:
    return {name: other for name, other in line.items() if other is not None}


def _lines_of_pairs(
    pairs: Mapping[str, Pairs], parents: Mapping[str, str | None], ends: Mapping[str, str], trainings: Names
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each evaluation with the captioner that a captioner is compared with, pair by pair.

    Trainings are paired in the order of their seeds; a captioner without seeds is paired with each training. Pairs that
    are a captioner and its parent, or a snapshot and the end of its training, are left out, because they are compared
    anyway.
    """
    known = {frozenset(pair) for line in (_known(parents), ends) for pair in line.items()}
    for evaluation, of_evaluation in pairs.items():
        for pair in of_evaluation:
            names, others = ([*trainings.get(name, [name])] for name in pair)
            if len(names) == 1 < len(others):
                names, others = others, names
            line = dict(zip(names, others * len(names) if len(others) == 1 else others, strict=True))
            yield evaluation, {name: other for name, other in line.items() if frozenset((name, other)) not in known}


def _corrected(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with the p-value that is corrected for all rows about the same metric and place."""
    families: dict[tuple[Any, ...], list[int]] = {}
    for number, row in enumerate(rows):
        place = tuple(row[name] for name in ("evaluation", "corpus", "retriever", "candidates", "metric"))
        families.setdefault(place, []).append(number)
    corrected: dict[int, float | None] = {}
    for numbers in families.values():
        corrected |= zip(numbers, holm([rows[number]["p_value"] for number in numbers]), strict=True)
    return [{**row, "p_holm": corrected[number]} for number, row in enumerate(rows)]


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
    found: Mapping[Any, Result], line: Mapping[str, str], trainings: Names, evaluation: str | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows of COMPARISONS of captioners with several trainings, of one evaluation or of all.

    Each training is compared with its own partner in `line`.
    """
    first = {name: captioner for captioner, names in trainings.items() for name in names}
    for results in _over_trainings(found, trainings):
        if evaluation not in (None, results[0].job.evaluation):
            continue
        others = [found.get((line.get(one.job.captioner), one.place)) for one in results]
        partners = [other for other in others if other is not None]
        against = {first.get(other.job.captioner, other.job.captioner) for other in partners}
        if len(partners) < len(results) or len(against) > 1:
            continue
        for one, other in zip(results, partners, strict=True):
            one.check_images(other)
        apart = np.array([one.value - other.value for one, other in zip(results, partners, strict=True)])
        over_images = paired_interval(results, [[other] for other in partners])
        value, low, high = seeds_interval(apart, over_images, difference_bounds(results[0].bounds))
        number = {"difference": value, "ci_low": low, "ci_high": high, **dict.fromkeys(("p_value", "p_holm", "test"))}
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


def scored_rows(table: pa.Table, columns: Mapping[str, np.ndarray]) -> ScoredRows:
    """Return the rows of a table with the columns that metrics sum up.

    The table has the columns of CAPTION_KEY. Without `caption_index`, each caption is the first one of its image.
    """
    images, image = np.unique(np.array(table["image_id"].to_pylist(), dtype=object), return_inverse=True)
    numbered = "caption_index" in table.column_names
    caption = table["caption_index"].to_numpy() if numbered else np.zeros(len(table), dtype=np.int64)
    return ScoredRows(tuple(images), image, caption, columns)


def sums_of_images(table: pa.Table, columns: Mapping[str, np.ndarray]) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Return the image ids in order, and the sums of each column over the captions of each image (images, width).

    The column `captions` (images, 1) is the number of captions of each image.
    """
    rows = scored_rows(table, columns)
    return rows.images, rows.sums()


def aggregate(
    sums: Mapping[str, np.ndarray], metrics: Mapping[str, Metric], seed: int
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Yield the name, the value and the resampled values of each metric, from columns (images, width) of sums."""
    totals = resampled_totals(sums, seed)
    for name, metric in metrics.items():
        values = metric.scale * metric.value(totals[metric.column], totals[CAPTIONS][:, 0])
        yield name, float(values[0]), values[1:]


def resampled_totals(sums: Mapping[Key, np.ndarray], seed: int) -> dict[Key, np.ndarray]:
    """Return the total of each column (images, width) of sums, followed by its totals over samples of the images."""
    everything = np.concatenate(list(sums.values()), axis=1)
    totals = np.concatenate([everything.sum(axis=0, keepdims=True), resampled_sums(everything, seed)])
    ends = np.cumsum([column.shape[1] for column in sums.values()])
    return dict(zip(sums, np.split(totals, ends[:-1], axis=1), strict=True))


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
