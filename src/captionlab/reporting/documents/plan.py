"""The plan of a run: the jobs that its targets need, the jobs that Snakemake would run, and the reasons."""

import json
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from captionlab.installation import name_of
from captionlab.reporting.documents.costs import clock
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.formats.markdown import markdown_rows
from captionlab.reporting.tables.parameters import flat_parameters
from captionlab.reporting.tables.render import MISSING
from captionlab.storage import paths

# Number of jobs of a rule, and of parameters of a job, that are listed.
SHOWN = 3
AFTER = "what it reads is made again"
LOCKED = (
    "The folder is locked: a run is under way, or one was killed. If none is under way, the command of the run "
    "with --unlock takes the lock away (docs/troubleshooting.md)."
)


class PlannedJob(NamedTuple):
    """A job that the targets of a run need.

    `name` is the name of its log below the rule; `stage` is the name of the file in workflow/rules/ that has its rule,
    or `reporting` for the rules of papers.
    """

    stage: str
    rule: str
    name: str
    why: tuple[str, ...]  # empty if the job is done


class Plan(NamedTuple):
    """The jobs of a run in the order of their stages, the folder of the run, and whether it is locked.

    `results` is the folder of the results on this machine, from the folder of the run. If results lie in a bucket, it
    is Snakemake's local copy of the bucket.
    """

    folder: Path
    jobs: Sequence[PlannedJob]
    locked: bool
    results: Path = Path(paths.RESULTS)

    @property
    def pending(self) -> list[tuple[str, str]]:
        """The (rule, name) of every job that Snakemake would run."""
        return [(job.rule, job.name) for job in self.jobs if job.why]


def folder_of(arguments: Sequence[str]) -> Path:
    """Return the folder in which Snakemake would run with these arguments.

    The folder comes from `--directory`, on the command line or in a profile, or else is the working directory.
    """
    from snakemake.cli import parse_args

    return Path(parse_args([*arguments])[1].directory or ".")


def read_plan(arguments: Sequence[str]) -> Plan:
    """Return Snakemake's plan for these arguments, without running or writing anything.

    The plan is read from the graph of jobs that Snakemake builds for a dry run. Raises SystemExit if Snakemake cannot
    make a plan, after Snakemake's own message, or if the arguments contain --unlock.
    """
    from snakemake.cli import main as snakemake

    graphs: list[Any] = []

    def watch(record: logging.LogRecord) -> bool:
        """Keep the graph of the first job that is logged, and let only errors through."""
        if not graphs and hasattr(record, "job"):
            graphs.append(record.job.dag)
        return record.levelno >= logging.ERROR

    if "--unlock" in arguments:  # Snakemake removes a lock even in a dry run
        raise SystemExit("--unlock is no part of a plan: give it to the command of the run")
    logger = logging.getLogger("snakemake.logging")
    logger.addFilter(watch)
    try:
        # --debug-dag makes Snakemake log every job. --quiet ends it when the graph is built, in half the time.
        snakemake(["--quiet", "rules", "progress", "--debug-dag", "--dry-run", *arguments])
    except SystemExit as end:
        if end.code:
            raise SystemExit("Snakemake cannot plan this") from None
    finally:
        logger.removeFilter(watch)
    if not graphs:
        raise SystemExit(f"Snakemake plans nothing with {' '.join(arguments)}")
    folder, (graph,) = folder_of(arguments), graphs
    pending = {*graph.needrun_jobs(exclude_finished=False)}
    rules = {rule.name: index for index, rule in enumerate(graph.workflow.rules)}
    found = [_planned(job, job in pending, folder) for job in graph.jobs if job.log]
    found.sort(key=lambda job: (rules[job.rule], job.name))
    results = next((paths.results_of(job.log[0]) for job in graph.jobs if job.log), Path(paths.RESULTS))
    return Plan(folder, found, graph.workflow.persistence.locked, results)


def _planned(job: Any, pending: bool, folder: Path) -> PlannedJob:
    file, rule, name = Path(job.rule.snakefile), job.rule.name, paths.job_of(job.log[0])
    stage = "reporting" if file.name == "rules.smk" else file.stem
    return PlannedJob(stage, rule, name, tuple(_why(job, folder)) if pending else ())


def _why(job: Any, folder: Path) -> list[str]:
    """Return the reasons why a job would run, in words; `folder` is the folder of the run."""
    reason, words = job.dag.reason(job), []
    if reason.forced:  # Snakemake also counts --rerun-incomplete as forced
        words.append("interrupted, or asked for by force")
    elif not any(_is_made(path, folder) for path in job.output):
        return ["not made yet"]
    elif missing := sorted(map(_shown, reason.missing_output)):
        words.append(f"{missing[0]} is not there")
    if reason.params_changed:
        words += _changes(job, folder) or ["its parameters"]
    if inputs := sorted(map(_shown, reason.updated_input - reason.updated_input_run)):
        words.append(f"newer or changed: {', '.join(inputs[:SHOWN])}")
    if reason.input_changed:
        words.append("it reads other files")
    if reason.code_changed or reason.software_stack_changed:
        words.append("its code or its conda environment")
    # A job without a reason of its own runs because its inputs are made again. If there is another reason, that says
    # enough.
    return words or [AFTER]


def _is_made(path: Any, folder: Path) -> bool:
    """Return whether an output of a job is there, in the folder of the run or in a bucket."""
    return bool(path.storage_object.exists()) if path.is_storage else (folder / path).exists()


def _shown(path: Any) -> str:
    """Return the name of a file of a job, as in a checkout; in a bucket, its address."""
    return str(path.storage_object.query if path.is_storage else name_of(Path(path)))


def _changes(job: Any, folder: Path) -> list[str]:
    """Return the parameters that differ from the parameters in the job's provenance file."""
    path = paths.beside_log(folder / job.log[0], "provenance", ".json")
    if not path.is_file():
        return []
    before = json.loads(path.read_text(encoding="utf-8"))["params"]
    now = json.loads(
        json.dumps(dict(job.params.items()), default=str)
    )  # in the form that captionlab.jobs.provenance writes
    old, new = flat_parameters(before), flat_parameters(now)
    words = [
        f"{name} {new.get(name, MISSING)}, was {old.get(name, MISSING)}"
        for name in new | old
        if new.get(name) != old.get(name)
    ]
    others = [f"{len(words) - SHOWN} more parameters"] if len(words) > SHOWN else []
    return [*words[:SHOWN], *others, *(["its code"] if before.get("code") != now.get("code") else [])]


# ---------------------------------------------------------------------------------------------------------- words
def status_text(plan: Plan, measured: Sequence[Row]) -> str:
    """Return the plan as Markdown tables: what is made, by stage, and what would run, by rule and reason.

    The time that each job took last is shown. `measured` are rows of COSTS
    (`captionlab.reporting.documents.costs.measured_jobs`).
    """
    seconds = {(row["rule"], row["job"]): row["seconds"] for row in measured}
    stages = defaultdict[str, list[PlannedJob]](list)
    for job in plan.jobs:
        stages[job.stage].append(job)
    made = [[stage, *_made(jobs, seconds)] for stage, jobs in {**stages, "all": plan.jobs}.items()]
    lines = [*_table(["stage", "jobs", "made", "they took"], [False, True, True, True], made), ""]
    if not plan.pending:
        lines.append("Nothing would run.")
    else:
        groups = defaultdict[tuple[str, str], list[str]](list)
        for job in plan.jobs:
            if job.why:
                groups[job.rule, "; ".join(job.why)].append(job.name)
        rows = [[rule, *_pending(rule, names, seconds), why] for (rule, why), names in groups.items()]
        lines += ["Would run:", "", *_table(["rule", "jobs", "which", "took last", "why"], [False, True], rows)]
    return "\n".join([*lines, *([f"\n{LOCKED}"] if plan.locked else [])]) + "\n"


def _made(jobs: Sequence[PlannedJob], seconds: Mapping[tuple[str, str], float | None]) -> list[str]:
    done = [(job.rule, job.name) for job in jobs if not job.why]
    return [str(len(jobs)), str(len(done)), _took(done, seconds)]


def _pending(rule: str, names: Sequence[str], seconds: Mapping[tuple[str, str], float | None]) -> list[str]:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    shown = ", ".join(names[:SHOWN]) + more
    return [str(len(names)), shown or MISSING, _took([(rule, name) for name in names], seconds)]


def _took(jobs: Sequence[tuple[str, str]], seconds: Mapping[tuple[str, str], float | None]) -> str:
    known = [taken for job in jobs if (taken := seconds.get(job)) is not None]
    return clock(sum(known)) if known else MISSING


def _table(headings: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a Markdown table that is also aligned in a terminal. Columns beyond the length of `numeric` are text."""
    right = [*numeric, *[False] * (len(headings) - len(numeric))]
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]

    def padded(row: Sequence[str]) -> list[str]:
        cells = zip(row, widths, right, strict=True)
        return [text.rjust(width) if number else text.ljust(width) for text, width, number in cells]

    return markdown_rows(padded(headings), right, [*map(padded, rows)])
