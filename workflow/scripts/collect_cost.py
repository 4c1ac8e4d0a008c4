"""Collect what every job of the run cost."""

from pathlib import Path
from typing import Any

from captionlab.provenance import commit
from captionlab.reporting.costs import COSTS, cost_table, measured_jobs
from captionlab.reporting.render import write_table_files
from captionlab.scripting import run
from captionlab.tables import write_table


def main(snakemake: Any) -> None:
    output = Path(snakemake.output.jobs)
    rows = measured_jobs(output.parent)
    write_table(output, COSTS, {name: [row[name] for row in rows] for name in COSTS.columns})
    provenance = {"commit": commit(), **snakemake.params.provenance}
    write_table_files(cost_table(rows, snakemake.params.stages, provenance), list(snakemake.output)[:-1])


if __name__ == "__main__":
    run(main, globals())
