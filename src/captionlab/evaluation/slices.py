"""Values of metrics on slices of a corpus: images of a scene, captions of a length, and the like.

A slice is a part of the captions of a captioner. Its values are computed from the same sums over images as the values
on the whole corpus (captionlab.evaluation.summary), so a corpus metric such as BLEU has its corpus formula.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from captionlab.evaluation.schemas import SLICED_IMAGES, SLICES
from captionlab.evaluation.summary import (
    CAPTIONS,
    LOWER,
    Metric,
    Result,
    ScoredRows,
    images_interval,
    resampled_totals,
)
from captionlab.statistics.groups import SMALLEST, GroupDifference, GroupValue, share_difference, welch_difference
from captionlab.statistics.intervals import difference_bounds
from captionlab.statistics.multiple import holm
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import read_table
from captionlab.texts.lengths import LENGTHS, length_ranges

LENGTH = "length"
LEFT_OUT = "left out"  # metadata of the table of slices: how many slices are too small, by what they are slices of
# Differences below a thousandth of a point come from BLEU's smoothing constants alone.
DECIMALS = 3


class Slice(NamedTuple):
    """A slice: the property by which captions are sliced, and its value."""

    by: str
    name: str


@dataclass
class Membership:
    """Which captions belong to which slices."""

    images: dict[str, dict[Slice, frozenset[str]]] = field(default_factory=dict)  # by corpus
    # By captioner and corpus: the number of words of the caption of each image and index. Empty: no slices by length.
    words: dict[tuple[str, str], dict[tuple[str, int], int]] = field(default_factory=dict)

    def masks(self, captioner: str, corpus: str, rows: ScoredRows) -> Iterator[tuple[Slice, np.ndarray]]:
        """Yield each slice of a captioner's captions on a corpus, with the rows that belong to it, true or false."""
        for one, images in self.images.get(corpus, {}).items():
            yield one, np.array([image in images for image in rows.images])[rows.image]
        if words := self.words.get((captioner, corpus)):
            ids = (rows.images[position] for position in rows.image.tolist())
            counts = np.array([words[key] for key in zip(ids, rows.caption.tolist(), strict=True)])
            ranges = np.searchsorted(LENGTHS, counts)
            yield from ((Slice(LENGTH, one.name), ranges == place) for place, one in enumerate(length_ranges()))


def read_membership(path: str, captions: Iterable[str]) -> Membership:
    """Return the slices of an evaluation from its table of SLICED_IMAGES; by length, of the captions in these files."""
    images: dict[str, dict[Slice, set[str]]] = {}
    for row in read_table(path, SLICED_IMAGES).to_pylist():
        of_corpus = images.setdefault(row["corpus"], {})
        of_corpus.setdefault(Slice(row["by"], row["slice"]), set()).add(row["image_id"])
    membership = Membership({corpus: {one: frozenset(ids) for one, ids in of.items()} for corpus, of in images.items()})
    for file in captions:
        captioner, _ = paths.captioner_of(file)
        for row in read_table(file, GENERATED, [*GENERATED.key, "caption"]).to_pylist():
            words = membership.words.setdefault((captioner, row["corpus"]), {})
            words[row["image_id"], row["caption_index"]] = len(row["caption"].split())
    return membership


def slice_columns(
    results: Iterable[Result], memberships: Mapping[str, Membership], seed: int
) -> tuple[dict[str, list[Any]], dict[str, int]]:
    """Return the columns of SLICES, and how many slices are too small to be shown, by what they are slices of.

    `memberships` are by evaluation. Results of other evaluations, and of metrics that are no functions of sums over
    images, are left out.
    """
    by_corpus: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.rows is not None and result.job.evaluation in memberships:
            by_corpus.setdefault((result.job.evaluation, result.corpus), []).append(result)
    rows, small = list[dict[str, Any]](), dict[str, int]()
    for (evaluation, corpus), of_corpus in by_corpus.items():
        corpus_rows, left_out = _corpus_rows(of_corpus, memberships[evaluation], seed)
        rows += corpus_rows
        for by in sorted({one.by for one in left_out}):
            small[f"{evaluation}, {corpus}, by {by}"] = sum(one.by == by for one in left_out)
    return {name: [row[name] for row in rows] for name in SLICES.columns}, small


def _corpus_rows(
    results: Sequence[Result], membership: Membership, seed: int
) -> tuple[list[dict[str, Any]], set[Slice]]:
    """Return the rows of an evaluation on a corpus, and the slices that are too small for one of its metrics."""
    tables: dict[int, list[Result]] = {}  # results of one table share their rows
    for result in results:
        tables.setdefault(id(result.rows), []).append(result)
    slices: dict[Slice, list[tuple[Sequence[Result], np.ndarray]]] = {}
    small = set()
    for of_table in tables.values():
        scored = _rows(of_table[0])
        for one, kept in membership.masks(of_table[0].job.captioner, of_table[0].corpus, scored):
            images = len(np.unique(scored.image[kept]))
            if images >= SMALLEST:
                slices.setdefault(one, []).append((of_table, kept))
            elif images:
                small.add(one)
    rows: dict[int, list[dict[str, Any]]] = {id(result): [] for result in results}
    for one, of_tables in slices.items():
        for whole, columns in _slice_rows(of_tables, seed):
            rows[id(whole)].append({"by": one.by, "slice": one.name, **columns})
    return [row for whole in results for row in _ranked(whole, rows[id(whole)])], small


def _ranked(whole: Result, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the slices of a result, the worst first, with corrected p-values and the columns of the whole result."""
    assert whole.formula is not None
    corrected = holm([row["p_value"] for row in rows])
    own = {name: getattr(whole, name) for name in ("corpus", "retriever", "candidates", "metric")}
    own |= {name: getattr(whole.job, name) for name in ("captioner", "evaluation", "decoding")}
    own |= {"split": whole.job.splits[whole.corpus]}
    rows = [{**own, **row, "p_holm": p_holm} for row, p_holm in zip(rows, corrected, strict=True)]
    rows.sort(key=lambda row: row["value"], reverse=whole.formula.better == LOWER)
    return [{**row, "rank": rank} for rank, row in enumerate(rows, 1)]


def _slice_rows(
    tables: Sequence[tuple[Sequence[Result], np.ndarray]], seed: int
) -> Iterator[tuple[Result, dict[str, Any]]]:
    """Yield each result that is defined on a slice, with the columns of its value on the slice.

    `tables` are the results of each table of scores, with the rows of the table that belong to the slice.
    """
    sliced = [_rows(of_table[0]).restricted(kept) for of_table, kept in tables]
    sums = [rows.sums() for rows in sliced]
    batches: dict[tuple[str, ...], list[int]] = {}  # tables with the same images are resampled together
    for number, rows in enumerate(sliced):
        batches.setdefault(rows.images, []).append(number)
    for numbers in batches.values():
        columns = {(number, name): column for number in numbers for name, column in sums[number].items()}
        totals = resampled_totals(columns, seed)
        for number in numbers:
            of_table, kept = tables[number]
            others = _rows(of_table[0]).restricted(~kept)
            rest = others.sums() if len(others.images) >= SMALLEST else None
            own = {name: totals[number, name] for name in sums[number]}
            for whole in of_table:
                result = _sliced(whole, sliced[number], sums[number], own)
                if result.is_defined:
                    yield whole, {**_value_columns(result, sums[number], rest), "rest": len(others.images)}


def _rows(result: Result) -> ScoredRows:
    assert result.rows is not None
    return result.rows


def _sliced(
    whole: Result, rows: ScoredRows, sums: Mapping[str, np.ndarray], totals: Mapping[str, np.ndarray]
) -> Result:
    """Return a result on the rows of a slice, from their sums over images and resampled totals."""
    metric = whole.formula
    assert metric is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        values = metric.scale * metric.value(totals[metric.column], totals[CAPTIONS][:, 0])
    counts = replace(whole, images=rows.images, captions=len(rows.image), shares=metric.shares(sums), rows=rows)
    return replace(counts, value=float(values[0]), resampled=values[1:])


def _value_columns(
    result: Result, sums: Mapping[str, np.ndarray], rest: Mapping[str, np.ndarray] | None
) -> dict[str, Any]:
    """Return the value of a slice with its interval, and its difference to the rest if the rest has enough images."""
    low, high = images_interval([result])
    row = {"value": result.value, "ci_low": low, "ci_high": high, "n": len(result.images)}
    tested = None if rest is None else _difference(result, sums, rest)
    names = ("difference", "difference_low", "difference_high", "p_value", "test")
    columns = (tested.value, *tested.ends, tested.p_value, tested.test) if tested else [None] * len(names)
    return {**row, **dict(zip(names, columns, strict=True))}


def _difference(
    result: Result, sums: Mapping[str, np.ndarray], rest: Mapping[str, np.ndarray]
) -> GroupDifference | None:
    """Return the difference of a slice to the rest. A share of images with one caption each has Fisher's exact test."""
    metric = result.formula
    assert metric is not None
    if metric.shares(sums) is not None and all((groups[CAPTIONS] == 1).all() for groups in (sums, rest)):
        hits = [round(float(groups[metric.column].sum())) for groups in (sums, rest)]
        share = share_difference((hits[0], hits[1]), (len(sums[CAPTIONS]), len(rest[CAPTIONS])))
        return share._replace(value=100 * share.value, ends=(100 * share.ends[0], 100 * share.ends[1]))
    own, other = _group_value(metric, sums), _group_value(metric, rest)
    tested = welch_difference(own, other, difference_bounds(result.bounds))
    alike = tested is not None and round(tested.value, DECIMALS) == 0
    return tested._replace(p_value=1.0) if tested and alike else tested


def _group_value(metric: Metric, sums: Mapping[str, np.ndarray]) -> GroupValue:
    """Return the value of a metric on a group of images, with its values without each image."""
    scores, captions = sums[metric.column], sums[CAPTIONS][:, 0]
    totals = np.concatenate([scores.sum(axis=0, keepdims=True), scores.sum(axis=0) - scores])
    with np.errstate(divide="ignore", invalid="ignore"):
        values = metric.scale * metric.value(totals, np.append(captions.sum(), captions.sum() - captions))
    return GroupValue(float(values[0]), values[1:])
