"""Tables of several runs: their metrics, what they were made with, and the cells of their tables that moved."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.values import Row, trainings
from captionlab.reporting.tables.parameters import flat_parameters
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, Value, interval_cell, p_cell
from captionlab.side_by_side.differences import ENDS, UNPAIRED, Compared, called
from captionlab.side_by_side.runs import FinishedRun
from captionlab.storage import paths

METRIC_RECORDS = (
    "run", "captioner", "corpus", "split", "evaluation", "decoding", "retriever", "candidates", "metric", "value",
    "ci_low", "ci_high", "seeds", "n", "against", "difference", "difference_low", "difference_high", "p_value",
    "p_holm", "test", "why_unpaired",
)  # fmt: skip
METRIC_NOTES = (
    "A difference is the value of a run less the value of the first run. Paired differences are of the same images "
    "with the same references, by the scores of single captions. The captions are in the browser of all runs.",
    "p: two-sided, of the paired bootstrap over images; of P@1 by one caption for each image, of McNemar's exact test; "
    "with Holm's correction for the captioners and runs that the metric compares in the evaluation on the corpus. "
    "Means over trainings have an interval over seeds and no test.",
    "Intervals: 95 %. The interval of an unpaired difference joins the intervals of the two values by squares (Zou and "
    "Donner 2008), as of independent samples. It has no test.",
)
# Whether the browser of all runs shows the captions of a captioner, by evaluation, corpus and RUN:captioner.
Shown = Callable[[str, str, str], bool]


def metrics_table(runs: Sequence[FinishedRun], numbers: Sequence[Compared], shown: Shown) -> Table:
    """Return the table of all numbers of the runs, with a block for each corpus and evaluation."""
    columns = [Column(name, numeric=False) for name in ("captioner", "metric")]
    for run in runs:
        columns.append(Column("value", group=run.name))
        if run is not runs[0]:
            columns += [Column("difference", f"from {runs[0].name}", run.name), Column("p, Holm", group=run.name)]
    ordered = sorted(numbers, key=lambda one: list(dict.fromkeys(map(_block, numbers))).index(_block(one)))
    blocks = [
        Block([_line(runs, one, shown) for one in of_block], ", ".join(name))
        for name, of_block in groupby(ordered, _block)
    ]
    notes = [
        *METRIC_NOTES,
        *([f"{MISSING}: not in this run."] if any(len(one.rows) < len(runs) for one in numbers) else []),
    ]
    records = [record for one in numbers for record in _records(runs, one)]
    return Table(
        "metrics",
        f"Metrics of {_names(runs)}",
        f"Every metric of every captioner that any of the runs evaluated, and the differences from {runs[0].name}.",
        columns, blocks, records, METRIC_RECORDS, notes, _made(runs),
    )  # fmt: skip


def _block(one: Compared) -> tuple[str, str]:
    return one.place["corpus"], one.place["evaluation"]


def _line(runs: Sequence[FinishedRun], one: Compared, shown: Shown) -> list[Cell]:
    """Return the row of a number."""
    place, first = one.place, runs[0]
    form = ".1f" if place["retriever"] else ".2f"
    several = trainings(place["seeds"]) if place["seeds"] > 1 else ""
    cells = [Cell(place["captioner"], several)]
    cells.append(Cell(place["metric"], ", ".join(filter(None, (place["retriever"], place["candidates"])))))
    for run in runs:
        row, difference = one.rows.get(run.name), one.differences.get(run.name)
        link = _link(place, called(run, place["captioner"]), None, shown)
        cells.append(interval_cell([row[end] for end in ENDS], form, link=link) if row else Cell(MISSING))
        if run is first:
            continue
        if difference is None:
            cells += [Cell(MISSING), Cell(MISSING)]
            continue
        ends = [difference[end] for end in ("difference", "ci_low", "ci_high")]
        link = _link(place, called(run, place["captioner"]), called(first, place["captioner"]), shown)
        cell = interval_cell(ends, f"+{form}", link=link)
        why = one.why.get(run.name, "")
        cells += [cell, Cell(UNPAIRED, note=f"Unpaired: {why}.") if why else p_cell(difference["p_holm"])]
    return cells


def _link(place: Mapping[str, Any], captioner: str, against: str | None, shown: Shown) -> str:
    """Return the address of the captions behind a number; empty if the browser does not show them."""
    if not all(shown(place["evaluation"], place["corpus"], name) for name in (captioner, against) if name):
        return ""
    where = (place["corpus"], captioner, place["evaluation"], place["metric"], place["retriever"], place["candidates"])
    return captions_link(*where, against, place["seeds"])


def _records(runs: Sequence[FinishedRun], one: Compared) -> Iterator[dict[str, Value]]:
    for name, row in one.rows.items():
        own = {column: row[column] for column in METRIC_RECORDS if column in row}
        difference: Row = one.differences.get(name, {})
        apart = {
            "against": runs[0].name if difference else None,
            "difference": difference.get("difference"),
            "difference_low": difference.get("ci_low"),
            "difference_high": difference.get("ci_high"),
            "why_unpaired": one.why.get(name),
        }
        tested = {column: difference.get(column) for column in ("p_value", "p_holm", "test")}
        yield {"run": name, **own, **apart, **tested}


# -------------------------------------------------------------------------------------------------------- parameters
LONGEST = 160  # letters of a value in a cell
PARAMETER_NOTES = (
    "Only what differs is listed. Config: the whole config of each run, defaults included, as it was recorded when the "
    "run was started last.",
    "Jobs: parameters and the digests of files from outside the run that each job read, as the jobs recorded them. "
    "Code is compared rule by rule. A run that was made by several commits or on several devices has them all.",
)


def parameters_table(runs: Sequence[FinishedRun]) -> Table:
    """Return the table of the keys, versions, devices and parameters of jobs that are not the same in all runs."""
    parts = {
        "config": [(key, "", values) for key, values in config_differences(runs)],
        "software and devices": [(fact, "", values) for fact, values in software_differences(runs)],
        "jobs": parameter_differences(runs),
    }
    columns = [Column(name, numeric=False) for name in ("what", *(run.name for run in runs))]
    blocks = [
        Block(
            [[Cell(name, of), *(Cell(_shortened(value)) for value in values)] for name, of, values in rows],
            f"{part}: {len(rows)} differ",
        )
        for part, rows in parts.items()
    ]
    records = [
        {"part": part, "what": name, "of": of, "run": run.name, "value": value}
        for part, rows in parts.items()
        for name, of, values in rows
        for run, value in zip(runs, values, strict=True)
    ]
    unknown = [run.name for run in runs if not run.config]
    notes = [*PARAMETER_NOTES, f"{MISSING}: not there."]
    if unknown:
        notes.append(
            f"The config of {', '.join(unknown)} is not recorded ({paths.CONFIG}), so configs are not compared."
        )
    return Table(
        "parameters", f"What differs in how {_names(runs)} were made",
        "Keys of the config, versions of libraries, commits, devices and parameters of jobs that are not all the same.",
        columns, blocks, records, ("part", "what", "of", "run", "value"), notes, _made(runs),
    )  # fmt: skip


def _shortened(text: str) -> str:
    """Return a text that a cell can hold; longer ones are whole in the records only."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} … (whole in the CSV)"


def config_differences(runs: Sequence[FinishedRun]) -> list[tuple[str, tuple[str, ...]]]:
    """Return each key of the config whose values differ between the runs that recorded theirs, and the values."""
    recorded = [run for run in runs if run.config]
    rows = _differing([flat_parameters(run.config) for run in recorded])
    return [
        (key, tuple(dict(zip(recorded, values, strict=True)).get(run, MISSING) for run in runs)) for key, values in rows
    ]


def software_differences(runs: Sequence[FinishedRun]) -> list[tuple[str, tuple[str, ...]]]:
    """Return commits, devices, versions of Python and of libraries, and rules with other code, as they differ."""
    found = []
    for run in runs:
        versions = defaultdict[str, set[str]](set)
        for job in run.jobs.values():
            for library, version in (job["params"].get("versions") or {}).items():
                versions[library].add(str(version))
        facts = {name: run.facts(name) for name in ("commit", "device", "python")}
        facts |= {library: sorted(of_library) for library, of_library in versions.items()}
        facts[f"rules with other code than {runs[0].name}"] = _other_code(runs[0], run)
        found.append({name: ", ".join(values) for name, values in facts.items() if values})
    return _differing(found)


def _other_code(first: FinishedRun, run: FinishedRun) -> list[str]:
    """Return the rules, in both runs, of jobs whose code differs from the code in the first run."""
    both = first.jobs.keys() & run.jobs.keys()
    codes = [{job: one.jobs[job]["params"].get("code") for job in both} for one in (first, run)]
    return sorted({run.jobs[job]["rule"] for job in both if codes[0][job] != codes[1][job]})


def parameter_differences(runs: Sequence[FinishedRun]) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the parameter, the job and the values in all runs of every job parameter that differs.

    Code and versions are left out. A job that some runs lack counts as one difference, with the parameter "the job".
    """
    everywhere = set.intersection(*({*run.jobs} for run in runs))
    found: list[dict[tuple[str, str], str]] = []
    for run in runs:
        of_run = {
            job: _parameters(made) if job in everywhere else {"the job": "there"} for job, made in run.jobs.items()
        }
        found.append({(job, name): value for job, of_job in of_run.items() for name, value in of_job.items()})
    return [(name, job, values) for (job, name), values in _differing(found)]


def _parameters(made: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a job and the digests of its inputs from outside the run."""
    outside = {path: digest for path, digest in made["inputs"].items() if not path.startswith(f"{paths.RESULTS}/")}
    given = {name: value for name, value in made["params"].items() if name != "versions"}
    return flat_parameters({**given, "input": outside})


def _differing(runs: Sequence[Mapping[Any, str]]) -> list[tuple[Any, tuple[str, ...]]]:
    """Return the names whose values are not the same in all mappings, sorted, with the values."""
    names = sorted({name for of_run in runs for name in of_run})
    rows = [(name, tuple(of_run.get(name, MISSING) for of_run in runs)) for name in names]
    return [row for row in rows if len({*row[1]}) > 1]


def _names(runs: Sequence[FinishedRun]) -> str:
    *names, last = (run.name for run in runs)
    return f"{', '.join(names)} and {last}"


def _made(runs: Sequence[FinishedRun]) -> list[str]:
    """Return a sentence on each run."""
    facts = [(run, run.config.get("name", "not recorded"), ", ".join(run.facts("commit")) or "unknown") for run in runs]
    return [f"{run.name}: config {config}, commit {commit}." for run, config, commit in facts]
