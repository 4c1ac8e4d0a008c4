"""Costs of a run by job and by stage, and estimated costs of pending jobs.

Each script measures itself and writes the result below results/cost/, under the name of its log
(captionlab.jobs.scripting).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.formats.markdown import markdown_rows
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.tables.sheets import PROVENANCE, table_of
from captionlab.storage.tables import Column as Stored
from captionlab.storage.tables import TableSchema, damage_named

COSTS = TableSchema(
    "costs of a run",
    "a job, as it ran last",
    ("rule", "job"),
    rule=Stored(pa.string(), "name of the rule"),
    job=Stored(pa.string(), "what the rule made: the name of its log file; empty where a rule has one job"),
    seconds=Stored(pa.float64(), "wall time of the job, s; of a resumed one since its resumption"),
    cpu_seconds=Stored(
        pa.float64(), "time of its processors, s; missing if several processes shared the work", nullable=True
    ),
    memory_mb=Stored(pa.float64(), "most memory of its largest process, MB; missing where unknown", nullable=True),
    gpu_seconds=Stored(pa.float64(), "wall time times the GPUs it used, s; 0 without a GPU"),
    gpu_memory_mb=Stored(pa.float64(), "most memory that torch held on a GPU, MB; 0 without a GPU"),
    device=Stored(pa.string(), "name of the GPU, or kind of processor; missing where unknown", nullable=True),
    requests=Stored(pa.int64(), "requests with a response of a served model; missing where unknown", nullable=True),
    cached_requests=Stored(
        pa.int64(), "requests whose response an earlier job got; missing where unknown", nullable=True
    ),
    input_tokens=Stored(pa.int64(), "tokens of their prompts; missing where unknown", nullable=True),
    output_tokens=Stored(pa.int64(), "tokens of their answers; missing where unknown", nullable=True),
    price=Stored(pa.float64(), "their price, in the currency of the config; missing where unknown", nullable=True),
)
# Tables with running times. They differ between any two runs.
TIMED_TABLES = frozenset({"cost", "checklist"})
SHOWN_AS_0 = ("seconds", "cpu_seconds", "memory_mb")  # the other columns are shown as missing if no GPU was used
TIMES, HIGHEST = ("seconds", "cpu_seconds", "gpu_seconds"), ("memory_mb", "gpu_memory_mb")
SERVED = ("requests", "cached_requests", "input_tokens", "output_tokens", "price")
SUMMED = (*TIMES, *SERVED)
HEADINGS = ("rule", "jobs", "time", "processors", "GPU", "memory", "GPU memory", "device")
HEADINGS_OF_SERVED = ("requests", "from the cache", "tokens read", "tokens written", "price")
NOTES = (
    "Times as hours:minutes:seconds. A job counts as it ran last; one that was interrupted, since it went on. Time is "
    "summed over jobs, and jobs run at once, so the run itself took less.",
    "Jobs that were not finished when this table was made are missing: figures may be among them. Jobs whose results "
    "are still there count, also where the config no longer asks for them.",
)
NOTE_OF_SERVED = (
    "Tokens and prices are of all responses of served models. An earlier job paid for responses from the cache. Prices "
    "are in the currency of the config, for models with a `price`."
)
RECORD_COLUMNS = ("stage", "rule", "jobs", *SUMMED, *HIGHEST, *PROVENANCE)


def measured_jobs(results: Path) -> list[dict[str, Any]]:
    """Return the rows of COSTS of every measured job below `results`, sorted by rule and name."""
    names = sorted(path.relative_to(results / "cost").with_suffix("") for path in (results / "cost").rglob("*.parquet"))
    return [row for name in names if (row := measured_job(results, name))]


def measured_job(results: Path, name: Path) -> dict[str, Any] | None:
    """Return the row of COSTS of a job, or None if the job has not been measured.

    `name` is the path of the job below results/cost/, without its ending. Columns that the version of captionlab that
    ran the job did not measure are None.
    """
    path = results / "cost" / f"{name}.parquet"
    if not path.exists():
        return None
    with damage_named(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        (measured,) = file.read().to_pylist()
    return {**dict.fromkeys(COSTS.columns), **measured}


def cost_table(rows: Sequence[Row], stages: Mapping[str, str], provenance: Mapping[str, Any]) -> Table:
    """Return the table of times and memory by rule, with a block for each stage.

    `stages` maps each rule to its stage, in order.
    """
    blocks, records = [], []
    served = any(row["requests"] for row in rows)
    for stage in [*dict.fromkeys(stages.values()), "other"]:
        here = [row for row in rows if stages.get(row["rule"], "other") == stage]
        # In the order of the stage's file, which is the order of the work.
        rules = dict.fromkeys([*stages, *(row["rule"] for row in here)])
        sums = {rule: _sum(found) for rule in rules if (found := [row for row in here if row["rule"] == rule])}
        if sums:
            sums_of_stage = {**sums, "together": _sum(here)}
            blocks.append(Block([_cells(name, total, served) for name, total in sums_of_stage.items()], stage))
        records += [{"stage": stage, "rule": rule, **one} for rule, one in sums.items()]
    blocks.append(Block([_cells("all", _sum(rows), served)], "the run"))
    headings = [*HEADINGS, *(HEADINGS_OF_SERVED if served else ())]
    columns = [Column(heading, numeric=heading not in ("rule", "device")) for heading in headings]
    description = "The jobs of each rule, with their times in sum and their memory at its highest."
    texts = ("cost", "What this run cost", description)
    notes = [*NOTES, *([NOTE_OF_SERVED] if served else [])]
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, notes, provenance)


def _sum(rows: Sequence[Row]) -> dict[str, Any]:
    sums = {name: sum(row[name] or 0 for row in rows) for name in SUMMED}
    memory = {name: max((row[name] or 0.0 for row in rows), default=0.0) for name in HIGHEST}
    return {"jobs": len(rows), **sums, **memory, "device": ", ".join(sorted({row["device"] for row in rows} - {None}))}


def _cells(name: str, total: Mapping[str, Any], served: bool) -> list[Cell]:
    used = {column: total[column] for column in (*TIMES, *HIGHEST) if total[column] or column in SHOWN_AS_0}
    times = [Cell(clock(used[column]), value=used[column]) if column in used else Cell(MISSING) for column in TIMES]
    memory = [Cell(f"{used[column]:.0f} MB") if column in used else Cell(MISSING) for column in HIGHEST]
    cells = [Cell(name), Cell(str(total["jobs"])), *times, *memory, Cell(total["device"] or MISSING)]
    if not served:
        return cells
    counts = [Cell(f"{total[column]:,}" if total["requests"] else MISSING) for column in SERVED[:-1]]
    return [*cells, *counts, Cell(f"{total['price']:.4g}" if total["price"] else MISSING)]


def clock(seconds: float) -> str:
    """Return a time in seconds as hours:minutes:seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


# ------------------------------------------------------------------------------------------------------ estimates
def estimate(pending: Sequence[tuple[str, str]], earlier: Sequence[Row]) -> "pd.DataFrame":
    """Estimate the costs of pending jobs, given as (rule, name).

    A job is estimated by its own earlier run, or else by the median over the rule's earlier jobs. `earlier` are rows of
    COSTS of one run or of several; the last row of a job counts. The result has a row for each rule: the number of
    `jobs`, their summed `seconds`, `gpu_seconds` and `price`, and the `longest` job in seconds. Values are missing if
    no job of the rule ever ran.
    """
    key, times = ["rule", "job"], ["seconds", "gpu_seconds", "price"]
    known = pd.DataFrame([*earlier], columns=[*key, *times]).drop_duplicates(key, keep="last")
    known = known.astype(dict.fromkeys(times, float)).fillna({"price": 0.0})
    jobs = pd.DataFrame([*pending], columns=key)
    usual = jobs[["rule"]].join(known.groupby("rule")[times].median(), on="rule")
    each = jobs.merge(known, "left", on=key).fillna(usual)
    rules = each.groupby("rule", sort=False)
    sums = rules[times].sum(min_count=1)
    return sums.assign(jobs=rules.size(), longest=rules["seconds"].max())


def estimate_text(estimates: "pd.DataFrame", cores: int, gpus: int) -> str:
    """Return the estimates as a Markdown table, with the least time that they take on this many cores and GPUs."""
    measured = estimates.dropna()
    rows = []
    for rule, one in estimates.iterrows():
        times = [clock(one[name]) if one[name] > 0 else MISSING for name in ("seconds", "gpu_seconds", "longest")]
        rows.append([str(rule), f"{one['jobs']:.0f}", *times])
    lines = markdown_rows(["rule", "jobs", "time", "GPU", "longest job"], [False, True, True, True, True], rows)
    seconds, gpu_seconds, jobs = measured["seconds"].sum(), measured["gpu_seconds"].sum(), estimates["jobs"].sum()
    least = max([seconds / cores, gpu_seconds / gpus, *measured["longest"]])
    if measured.empty and jobs:
        lines += ["", f"{jobs} jobs, none of a rule that was ever measured, so nobody knows what they take."]
        return "\n".join([*lines, "Name a run that was, of a smaller config perhaps, by --earlier FOLDER."]) + "\n"
    lines += ["", f"{jobs} jobs, {clock(seconds)} in sum, {clock(gpu_seconds)} of GPU."]
    lines.append(f"With {cores} jobs at once and {gpus} of them on a GPU: not before {clock(least)}.")
    if (price := measured["price"].sum()) > 0:
        lines.append(f"Requests to servers: {price:.4g} in sum, in the currency of the config.")
    if len(unknown := estimates.index.difference(measured.index, sort=False)):
        lines.append(f"Never measured and not in the sum: {', '.join(unknown)}.")
    return "\n".join(lines) + "\n"
