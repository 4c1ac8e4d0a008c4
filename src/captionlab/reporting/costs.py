"""What a run cost, job by job and stage by stage, and what the jobs that are pending may cost.

Snakemake measures each job (results/benchmarks/), and each script its GPU (captionlab.scripting). Both have the name of
the job's log, so they belong together without being declared anywhere.
"""

import csv
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.runs import Row
from captionlab.reporting.sheets import PROVENANCE, table_of
from captionlab.schemas import COST
from captionlab.tables import Column as Stored
from captionlab.tables import TableSchema, read_table

COSTS = TableSchema(
    "costs of a run",
    "a job, as it ran last",
    ("rule", "job"),
    rule=Stored(pa.string(), "name of the rule"),
    job=Stored(pa.string(), "what the rule made: the name of its log file; empty where a rule has one job"),
    seconds=Stored(pa.float64(), "wall time of the job, s; of a resumed one since its resumption"),
    cpu_seconds=Stored(pa.float64(), "time of its processors, s; missing for a very short one", nullable=True),
    memory_mb=Stored(pa.float64(), "most memory it held, MB; missing for a very short one", nullable=True),
    gpu_seconds=Stored(pa.float64(), "wall time times the GPUs it used, s; 0 without a GPU"),
    gpu_memory_mb=Stored(pa.float64(), "most memory that torch held on a GPU, MB; 0 without a GPU"),
    device=Stored(pa.string(), "name of the GPU, or kind of processor; missing where unknown", nullable=True),
)
SUMMED, HIGHEST = ("seconds", "cpu_seconds", "gpu_seconds"), ("memory_mb", "gpu_memory_mb")
RECORD_COLUMNS = ("stage", "rule", "jobs", *SUMMED, *HIGHEST, *PROVENANCE)


def measured_jobs(results: Path) -> list[dict[str, Any]]:
    """Rows of a table of costs: every job below `results` that has a benchmark, by rule and name."""
    rows = []
    for path in sorted((results / "benchmarks").rglob("*.tsv")):
        name = path.relative_to(results / "benchmarks").with_suffix("")
        with open(path, encoding="utf-8", newline="") as file:
            told = next(csv.DictReader(file, delimiter="\t"), None)
        if told is None:  # the job is under way or was killed
            continue
        own = results / "cost" / name.with_suffix(".parquet")
        of_gpu = {"gpu_seconds": 0.0, "gpu_memory_mb": 0.0, "device": None}
        if own.exists():
            found = read_table(own, COST).to_pylist()[0]
            of_gpu = {column: found[column] for column in of_gpu}
        of_job = {"seconds": float(told["s"]), "cpu_seconds": _number(told.get("cpu_time"))}
        job = {"rule": name.parts[0], "job": "/".join(name.parts[1:]), **of_job}
        rows.append({**job, "memory_mb": _number(told.get("max_rss")), **of_gpu})
    return rows


def _number(text: str | None) -> float | None:
    """What Snakemake measured; it writes NA or a dash for a job that was over before it looked."""
    return None if text in (None, "", "-", "NA") else float(text)


def cost_table(rows: Sequence[Row], stages: Mapping[str, str], provenance: Mapping[str, Any]) -> Table:
    """Times and memory of each rule, in blocks by stage; `stages` has the stage of each rule, in order."""
    blocks, records = [], []
    for stage in [*dict.fromkeys(stages.values()), "other"]:
        here = [row for row in rows if stages.get(row["rule"], "other") == stage]
        # In the order of the stage's file, which is that of the work.
        rules = dict.fromkeys([*stages, *(row["rule"] for row in here)])
        sums = {rule: _sum(found) for rule in rules if (found := [row for row in here if row["rule"] == rule])}
        if sums:
            blocks.append(Block([*map(_cells, sums, sums.values()), _cells("together", _sum(here))], stage))
        records += [{"stage": stage, "rule": rule, **one} for rule, one in sums.items()]
    blocks.append(Block([_cells("all", _sum(rows))], "the run"))
    headings = ("jobs", "time", "processors", "GPU", "memory", "GPU memory")
    return table_of(
        "cost",
        "What this run cost",
        "The jobs of each rule, with their times in sum and their memory at its highest.",
        [Column("rule", numeric=False), *map(Column, headings), Column("device", numeric=False)],
        blocks,
        records,
        RECORD_COLUMNS,
        [
            "Times as hours:minutes:seconds. A job counts as it ran last; one that was interrupted, since it went on. "
            "Time is summed over jobs, and jobs run at once, so the run itself took less.",
            "Jobs that were not finished when this table was made are missing: figures may be among them. Jobs whose "
            "results are still there count, also where the config no longer asks for them.",
        ],
        provenance,
    )


def _sum(rows: Sequence[Row]) -> dict[str, Any]:
    """Some jobs together: their times in sum, their memory at its highest."""
    return {
        "jobs": len(rows),
        **{name: sum(row[name] or 0.0 for row in rows) for name in SUMMED},
        **{name: max((row[name] or 0.0 for row in rows), default=0.0) for name in HIGHEST},
        "device": ", ".join(sorted({row["device"] for row in rows} - {None})),
    }


def _cells(name: str, one: Mapping[str, Any]) -> list[Cell]:
    gpu_time = clock(one["gpu_seconds"]) if one["gpu_seconds"] else MISSING
    gpu_memory = f"{one['gpu_memory_mb']:.0f} MB" if one["gpu_memory_mb"] else MISSING
    times = (clock(one["seconds"]), clock(one["cpu_seconds"]), gpu_time)
    memory = (f"{one['memory_mb']:.0f} MB", gpu_memory)
    return [Cell(text) for text in (name, str(one["jobs"]), *times, *memory, one["device"] or MISSING)]


def clock(seconds: float) -> str:
    """Seconds as hours:minutes:seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


# ------------------------------------------------------------------------------------------------------ estimates
@dataclass(frozen=True)
class Estimate:
    """Of the pending jobs of a rule: how many, and their seconds in sum; None where no job of the rule ever ran."""

    rule: str
    jobs: int
    seconds: float | None
    gpu_seconds: float
    longest: float


def estimate(pending: Iterable[tuple[str, str]], earlier: Sequence[Row]) -> list[Estimate]:
    """What jobs (rule, name) may cost: as they did earlier, or as the median of the rule's jobs where they are new.

    `earlier` are rows of tables of costs, of one run or of several; the last run of a job counts.
    """
    known = {(row["rule"], row["job"]): row for row in earlier}
    by_rule: dict[str, list[str]] = {}
    for rule, job in pending:
        by_rule.setdefault(rule, []).append(job)
    estimates = []
    for rule, jobs in by_rule.items():
        rows = [row for (other, _), row in known.items() if other == rule]
        if not rows:
            estimates.append(Estimate(rule, len(jobs), None, 0.0, 0.0))
            continue
        usual = {name: statistics.median(row[name] for row in rows) for name in ("seconds", "gpu_seconds")}
        each = [known.get((rule, job), usual) for job in jobs]
        seconds, gpu_seconds = ([float(one[name]) for one in each] for name in ("seconds", "gpu_seconds"))
        estimates.append(Estimate(rule, len(jobs), sum(seconds), sum(gpu_seconds), max(seconds)))
    return estimates


def estimate_text(estimates: Sequence[Estimate], cores: int, gpus: int) -> str:
    """The estimates as a table in Markdown, and the least time in which so many cores and GPUs could be done."""
    lines = ["| rule | jobs | time | GPU | longest job |", "| --- | ---: | ---: | ---: | ---: |"]
    for one in estimates:
        times = [MISSING] * 3
        if one.seconds is not None:
            times = [clock(one.seconds), clock(one.gpu_seconds) if one.gpu_seconds else MISSING, clock(one.longest)]
        lines.append(f"| {one.rule} | {one.jobs} | {' | '.join(times)} |")
    seconds, gpu_seconds = sum(one.seconds or 0.0 for one in estimates), sum(one.gpu_seconds for one in estimates)
    least = max([seconds / cores, gpu_seconds / gpus, *(one.longest for one in estimates)])
    jobs = sum(one.jobs for one in estimates)
    lines += ["", f"{jobs} jobs, {clock(seconds)} in sum, {clock(gpu_seconds)} of GPU."]
    lines.append(f"With {cores} jobs at once and {gpus} of them on a GPU: not before {clock(least)}.")
    if unknown := [one.rule for one in estimates if one.seconds is None]:
        lines.append(f"Never measured and not in the sum: {', '.join(unknown)}.")
    return "\n".join(lines) + "\n"
