"""What a run cost, job by job and stage by stage, and what the jobs that are pending may cost.

Snakemake measures each job (results/benchmarks/), and each script its GPU (captionlab.cost). Both have the name of the
job's log, so they belong together without being declared anywhere.
"""

import csv
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from captionlab.reporting.footnotes import run_notes
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.sheets import PROVENANCE
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
RECORD_COLUMNS = (
    "stage", "rule", "jobs", "seconds", "cpu_seconds", "gpu_seconds", "memory_mb", "gpu_memory_mb",
    *PROVENANCE,
)  # fmt: skip


@dataclass(frozen=True)
class Sum:
    """Some jobs together: their times in sum, their memory at its highest."""

    jobs: int
    seconds: float
    cpu_seconds: float
    gpu_seconds: float
    memory_mb: float
    gpu_memory_mb: float
    devices: tuple[str, ...]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Sum":
        """Of rows of a table of costs."""
        return cls(
            jobs=len(rows),
            seconds=sum(row["seconds"] for row in rows),
            cpu_seconds=sum(row["cpu_seconds"] or 0.0 for row in rows),
            gpu_seconds=sum(row["gpu_seconds"] for row in rows),
            memory_mb=max((row["memory_mb"] or 0.0 for row in rows), default=0.0),
            gpu_memory_mb=max((row["gpu_memory_mb"] for row in rows), default=0.0),
            devices=tuple(sorted({row["device"] for row in rows} - {None})),
        )


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
        gpu = read_table(own, COST).to_pylist()[0] if own.exists() else {}
        rows.append(
            {
                "rule": name.parts[0],
                "job": "/".join(name.parts[1:]),
                "seconds": float(told["s"]),
                "cpu_seconds": _number(told.get("cpu_time")),
                "memory_mb": _number(told.get("max_rss")),
                "gpu_seconds": gpu.get("gpu_seconds", 0.0),
                "gpu_memory_mb": gpu.get("gpu_memory_mb", 0.0),
                "device": gpu.get("device"),
            }
        )
    return rows


def _number(text: str | None) -> float | None:
    """What Snakemake measured; it writes NA or a dash for a job that was over before it looked."""
    return None if text in (None, "", "-", "NA") else float(text)


def cost_table(rows: Sequence[Mapping[str, Any]], stages: Mapping[str, str], provenance: Mapping[str, Any]) -> Table:
    """Times and memory of each rule, in blocks by stage; `stages` has the stage of each rule, in order."""
    blocks, records = [], []
    order = [*dict.fromkeys(stages.values()), "other"]
    for stage in order:
        here = [row for row in rows if stages.get(row["rule"], "other") == stage]
        if not here:
            continue
        # In the order of the stage's file, which is that of the work.
        rules = dict.fromkeys([*stages, *(row["rule"] for row in here)])
        sums = {rule: Sum.of(found) for rule in rules if (found := [row for row in here if row["rule"] == rule])}
        together = _cells("together", Sum.of(here))
        blocks.append(Block([*(_cells(rule, one) for rule, one in sums.items()), together], stage))
        records += [_record(stage, rule, one, provenance) for rule, one in sums.items()]
    whole = Sum.of(rows)
    blocks.append(Block([_cells("all", whole)], "the run"))
    return Table(
        "cost",
        "What this run cost",
        "The jobs of each rule, with their times in sum and their memory at its highest.",
        [
            Column("rule", numeric=False),
            *(Column(name) for name in ("jobs", "time", "processors", "GPU", "memory", "GPU memory")),
            Column("device", numeric=False),
        ],
        blocks,
        records,
        RECORD_COLUMNS,
        [
            "Times as hours:minutes:seconds. A job counts as it ran last; one that was interrupted, since it went on. "
            "Time is summed over jobs, and jobs run at once, so the run itself took less.",
            "Jobs that were not finished when this table was made are missing: figures may be among them. Jobs whose "
            "results are still there count, also where the config no longer asks for them.",
            *run_notes(provenance),
        ],
    )


def _cells(name: str, one: Sum) -> list[Cell]:
    return [
        Cell(name),
        Cell(str(one.jobs)),
        Cell(clock(one.seconds)),
        Cell(clock(one.cpu_seconds)),
        Cell(clock(one.gpu_seconds) if one.gpu_seconds else MISSING),
        Cell(f"{one.memory_mb:.0f} MB"),
        Cell(f"{one.gpu_memory_mb:.0f} MB" if one.gpu_memory_mb else MISSING),
        Cell(", ".join(one.devices) or MISSING),
    ]


def _record(stage: str, rule: str, one: Sum, provenance: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "stage": stage,
        "rule": rule,
        "jobs": one.jobs,
        **{name: getattr(one, name) for name in RECORD_COLUMNS[3:8]},
        **{name: provenance.get(name) for name in PROVENANCE},
        "device": ", ".join(one.devices),
    }


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


def estimate(pending: Iterable[tuple[str, str]], earlier: Sequence[Mapping[str, Any]]) -> list[Estimate]:
    """What jobs (rule, name) may cost: as they did earlier, or as the median of the rule's jobs where they are new.

    `earlier` are rows of tables of costs, of one run or of several; the last run of a job counts.
    """
    known = {(row["rule"], row["job"]): row for row in earlier}
    estimates = []
    by_rule: dict[str, list[str]] = {}
    for rule, job in pending:
        by_rule.setdefault(rule, []).append(job)
    for rule, jobs in by_rule.items():
        rows = [row for (other, _), row in known.items() if other == rule]
        if not rows:
            estimates.append(Estimate(rule, len(jobs), None, 0.0, 0.0))
            continue
        usual = {name: statistics.median(row[name] for row in rows) for name in ("seconds", "gpu_seconds")}
        each = [known.get((rule, job), usual) for job in jobs]
        seconds = [float(one["seconds"]) for one in each]
        gpu_seconds = sum(float(one["gpu_seconds"]) for one in each)
        estimates.append(Estimate(rule, len(jobs), sum(seconds), gpu_seconds, max(seconds)))
    return estimates


def estimate_text(estimates: Sequence[Estimate], cores: int, gpus: int) -> str:
    """The estimates as a table in Markdown, and the least time in which so many cores and GPUs could be done."""
    lines = ["| rule | jobs | time | GPU | longest job |", "| --- | ---: | ---: | ---: | ---: |"]
    for one in estimates:
        times = [MISSING] * 3
        if one.seconds is not None:
            times = [clock(one.seconds), clock(one.gpu_seconds) if one.gpu_seconds else MISSING, clock(one.longest)]
        lines.append(f"| {one.rule} | {one.jobs} | {' | '.join(times)} |")
    seconds = sum(one.seconds or 0.0 for one in estimates)
    gpu_seconds = sum(one.gpu_seconds for one in estimates)
    least = max([seconds / cores, gpu_seconds / gpus, *(one.longest for one in estimates)], default=0.0)
    jobs = sum(one.jobs for one in estimates)
    lines += ["", f"{jobs} jobs, {clock(seconds)} in sum, {clock(gpu_seconds)} of GPU."]
    lines.append(f"With {cores} jobs at once and {gpus} of them on a GPU: not before {clock(least)}.")
    if unknown := [one.rule for one in estimates if one.seconds is None]:
        lines.append(f"Never measured and not in the sum: {', '.join(unknown)}.")
    return "\n".join(lines) + "\n"
