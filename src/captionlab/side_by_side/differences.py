"""Differences of metrics between runs: paired over the images that both saw, or else from their intervals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from captionlab.evaluation.results import results_in, table_name
from captionlab.evaluation.summary import Result, comparison_columns
from captionlab.plugins import names
from captionlab.reporting.runs.values import Row
from captionlab.side_by_side.images import why_different
from captionlab.side_by_side.runs import FinishedRun
from captionlab.statistics.intervals import independent_difference
from captionlab.storage import paths
from captionlab.storage.files import digest

ENDS = ("value", "ci_low", "ci_high")
# What identifies a number of a run.
PLACE = ("evaluation", "corpus", "captioner", "seeds", "retriever", "candidates", "metric")
UNPAIRED = "unpaired"
Place = tuple[Any, ...]


@dataclass(frozen=True)
class Compared:
    """A number in all runs: the row of SUMMARY of each run that has it, and the differences from the first run.

    A difference has the columns of COMPARISONS about it. If it is not paired, it has no p-value, and `why` says why.
    """

    place: Mapping[str, Any]
    rows: Mapping[str, Row]
    differences: Mapping[str, Row]
    why: Mapping[str, str]


def compared_numbers(runs: Sequence[FinishedRun]) -> tuple[list[Compared], list[Row]]:
    """Return every number of the runs, and the rows of COMPARISONS of the paired differences from the first run.

    In the rows a captioner is called RUN:captioner. The order is that of the first run, then of the others.
    """
    first, *others = runs
    of_runs = {run.name: {_key(row): row for row in run.summary} for run in runs}
    results = {run.name: _results(run, first) for run in runs}
    paired = _paired(runs, results)
    differences = {
        (_run_of(row["captioner"]), _key({**row, "captioner": _own(row["captioner"])})): row for row in paired
    }
    found = []
    for key in dict.fromkeys(key for rows in of_runs.values() for key in rows):
        rows = {name: of_run[key] for name, of_run in of_runs.items() if key in of_run}
        own, why = dict[str, Row](), dict[str, str]()
        for other in others:
            if first.name not in rows or other.name not in rows:
                continue
            if (other.name, key) in differences:
                own[other.name] = differences[other.name, key]
            else:
                own[other.name] = _unpaired(rows[other.name], rows[first.name])
                why[other.name] = _why_unpaired(first, other, rows[first.name], rows[other.name], results)
        found.append(Compared(dict(zip(PLACE, key, strict=True)), rows, own, why))
    return found, paired


def called(run: FinishedRun, captioner: str) -> str:
    """Return the name of a captioner among those of other runs."""
    return f"{run.name}:{captioner}"


def _run_of(name: str) -> str:
    return name.partition(":")[0]


def _own(name: str) -> str:
    return name.partition(":")[2]


def _key(row: Row) -> Place:
    return tuple(row[name] for name in PLACE)


def _results(run: FinishedRun, first: FinishedRun) -> dict[tuple[str, Any], Result]:
    """Return the results of a run from its scores of single captions, by captioner and place.

    All runs are resampled with the seed of the first run, so that the same images are drawn in each. Without the
    provenance of the summary, or without the scores that it was made from, nothing is returned.
    """
    if not run.summarised:
        return {}
    params = run.summarised["params"]
    seed = first.summarised.get("params", params)["seed"]
    # Scores that were made again after the summary are other numbers.
    read = run.summarised["inputs"].items()
    files = [name for name, made in read if run.file(name).is_file() and digest(run.file(name)) == made]
    captions = {paths.captioner_of(name): str(run.file(name)) for name in files if paths.stage_of(name) == "captions"}
    of_scorers = {
        "factors": params["factors"],
        "bounds": {name: tuple(ends) for name, ends in params["bounds"].items()},
    }
    found = {}
    for name in files:
        if paths.stage_of(name) == "evaluation" and (metric := metric_of(name)):
            path = str(run.file(name))
            for result in results_in(metric, path, captions, params["evaluations"], of_scorers, seed):
                found[result.job.captioner, result.place] = result
    return found


def metric_of(name: str) -> str | None:
    """Return the metric of a table of scores; None for a metric of a package that is not installed here."""
    try:
        return table_name(name, [*names("evaluation.metrics")])
    except ValueError:
        return None


def _paired(runs: Sequence[FinishedRun], results: Mapping[str, Mapping[Any, Result]]) -> list[Row]:
    """Return rows of COMPARISONS: each captioner against the captioner of the same name in the first run."""
    first, *others = runs
    pairs = {
        (run, where): result
        for run in others
        for where, result in results[run.name].items()
        if _is_paired(first, run, results[first.name].get(where), result)
    }
    kept = [_renamed(first, result) for result in results[first.name].values()]
    kept += [_renamed(run, result) for (run, _), result in pairs.items()]
    against: dict[str, str | None] = {called(run, captioner): called(first, captioner) for run, (captioner, _) in pairs}
    trainings = {
        called(run, captioner): [called(run, name) for name in of_captioner]
        for run in runs
        for captioner, of_captioner in run.trainings.items()
    }
    columns = comparison_columns(kept, against, {}, trainings)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _is_paired(first: FinishedRun, run: FinishedRun, result: Result | None, other: Result) -> bool:
    if result is None or result.images != other.images:
        return False
    splits = {one.job.splits[one.corpus] for one in (result, other)}
    return len(splits) == 1 and not why_different(first, run, result.corpus, splits.pop())


def _renamed(run: FinishedRun, result: Result) -> Result:
    return replace(result, job=replace(result.job, captioner=called(run, result.job.captioner)))


def _unpaired(row: Row, first: Row) -> Row:
    """Return the difference of two numbers on different images, with an interval and without a test."""
    value, low, high = independent_difference(*(tuple(one[name] for name in ENDS) for one in (row, first)))
    return {"difference": value, "ci_low": low, "ci_high": high, "p_value": None, "p_holm": None, "test": UNPAIRED}


def _why_unpaired(
    first: FinishedRun, other: FinishedRun, row: Row, of_other: Row, results: Mapping[str, Mapping[Any, Result]]
) -> str:
    """Return why the difference of a number in two runs is not paired."""
    if row["split"] != of_other["split"]:
        return f"{first.name} evaluated the split {row['split']} of {row['corpus']}, {other.name} {of_other['split']}"
    if why := why_different(first, other, row["corpus"], row["split"]):
        return why
    where = row["captioner"], (*(row[name] for name in ("evaluation", "corpus", "retriever", "candidates", "metric")),)
    for run in (first, other):
        if where not in results[run.name]:
            return f"{run.name} has no scores of single captions behind its {row['metric']}"
    if results[first.name][where].images != results[other.name][where].images:
        return f"{row['metric']} is of other images of {row['corpus']} in {first.name} than in {other.name}"
    return "the runs have other trainings of this captioner"


def tally(numbers: Sequence[Compared]) -> Iterator[tuple[str, int, int, int]]:
    """Yield each run after the first with its numbers of paired, of significant and of unpaired differences."""
    for name in dict.fromkeys(name for one in numbers for name in one.differences):
        rows = [one.differences[name] for one in numbers if name in one.differences]
        paired = [row for row in rows if row["test"] != UNPAIRED]
        significant = [row for row in paired if row["p_holm"] is not None and row["p_holm"] < 0.05]
        yield name, len(paired), len(significant), len(rows) - len(paired)
