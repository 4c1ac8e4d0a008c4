"""Numbers of a run, computed again from the scores of single captions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from captionlab.config.families import score_tables
from captionlab.evaluation.definitions import define
from captionlab.evaluation.results import read_results, table_name
from captionlab.evaluation.summary import Result, comparison_columns, scored_in, summary_columns
from captionlab.jobs.provenance import records
from captionlab.library.runs import Run, RunError
from captionlab.storage import paths

# The rule that computes the numbers of a run.
RULE = "summarise_evaluation"
# The columns of a number by what they hold, of a value and of a difference.
VALUE, DIFFERENCE = ("value", "ci_low", "ci_high", "n"), ("difference", "ci_low", "ci_high", "n")


@dataclass(frozen=True)
class Number:
    """The coordinates of a number of a run: of a value, or with `against` of a difference.

    Coordinates that are None are those of the only number that has the others.
    """

    captioner: str
    corpus: str
    evaluation: str
    metric: str
    retriever: str | None = None
    candidates: str | None = None
    against: str | None = None
    seeds: int = 1

    @property
    def columns(self) -> Sequence[str]:
        """Return the columns of the number, its interval and its images."""
        return VALUE if self.against is None else DIFFERENCE


def stored(run: Run, number: Number) -> dict[str, Any]:
    """Return the row of a number in the summary, or in the comparisons if it is a difference.

    Raises RunError, which lists what is there, if there is no such number, or if there are several.
    """
    table = run.evaluation() if number.against is None else run.comparisons()
    known = table.astype(object).where(table.notna(), None)
    rows = [dict(zip(table.columns, row, strict=True)) for row in known.itertuples(index=False, name=None)]
    for name, value in asdict(number).items():
        if name == "against" and value is None:
            continue
        there = list(dict.fromkeys(row[name] for row in rows))
        if value is None and name in ("retriever", "candidates"):
            value = None if None in there or len(there) != 1 else there[0]
        rows = [row for row in rows if row[name] == value]
        if not rows:
            raise RunError(f"{run.folder} has no such number: {_mistake(name, value, there)}")
    return rows[0]


def _mistake(name: str, value: Any, there: Sequence[Any]) -> str:
    """Return a sentence on a coordinate that no number has, with the coordinates that there are."""
    options = "; ".join(sorted("none" if one is None else str(one) for one in there))
    return f"{name} {value!r} is none of: {options}" if value is not None else f"name its {name}: {options}"


def recomputed(run: Run, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of the summary or of the comparisons, computed again from the scores of single captions.

    Only the columns of `Number.columns` are comparable: p-values with Holm's correction count further comparisons.
    Raises RunError if the run has no provenance of its summary.
    """
    params, inputs = _job(run)
    names = [row["captioner"], *([row["against"]] if "against" in row else [])]
    trainings = params["trainings"] if row["seeds"] > 1 else {}
    captioners = {name for block in names for name in trainings.get(block, [block])}
    wanted = {(captioner, row["evaluation"]) for captioner in captioners}
    captions = [path for path in inputs if paths.stage_of(path) == "captions" and paths.captioner_of(path) in wanted]
    scores = _scores(run, [*score_tables()], inputs, wanted)
    tables = define(row["metric"], score_tables(), scores).tables
    files = {table: [str(run.folder / path) for path in scores[table]] for table in tables}
    every = read_results(files, [str(run.folder / path) for path in captions], params)
    results = [result for result in every if _is_of(result, row)]
    if "against" not in row:
        columns = summary_columns(results, params["trainings"])
    else:
        parents = {captioner: block["parent"] for captioner, block in params["lineage"].items()}
        columns = comparison_columns(results, parents, params["ends"], params["trainings"], params["pairs"])
    key = [name for name in ("captioner", "seeds", "against") if name in row]
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    found = [one for one in rows if all(one[name] == row[name] for name in key)]
    if not found:
        raise RunError(f"the scores of single captions below {run.folder} no longer give this number; make them again")
    return found[0]


def _job(run: Run) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Return the parameters and the inputs, with digests, of the job that made the summary of a run."""
    jobs = [job for _, job in records(run.folder) if job["rule"] == RULE]
    if not jobs:
        summary = paths.reporting("summary.parquet")
        raise RunError(
            f"{run.folder / paths.PROVENANCE} does not say how {summary} was made; `snakemake --cores all --forcerun "
            f"{RULE} {summary}` makes both again"
        )
    return jobs[0]["params"], jobs[0]["inputs"]


def _scores(
    run: Run, tables: Sequence[str], inputs: Mapping[str, str], wanted: set[tuple[str, str]]
) -> dict[str, list[str]]:
    """Return the files with scores of captioners in evaluations, by the name of the table, in the order of `tables`.

    Raises RunError if a file is gone.
    """
    scores: dict[str, list[str]] = {table: [] for table in tables}
    for path in inputs:
        if paths.stage_of(path) == "evaluation":
            file = run.folder / path
            if not file.is_file():
                raise RunError(f"{file} is gone, from which the summary was made; make it again")
            if wanted & {*scored_in(str(file))}:
                scores[table_name(path, tables)].append(path)
    return {table: files for table, files in scores.items() if files}


def _is_of(result: Result, row: Mapping[str, Any]) -> bool:
    """Return whether a result has the place of a row."""
    return result.place == tuple(row[name] for name in ("evaluation", "corpus", "retriever", "candidates", "metric"))
