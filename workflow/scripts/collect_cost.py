"""Collect the cost of every job of the run."""

import logging
from pathlib import Path

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.documents.costs import COSTS, cost_table, measured_jobs
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    output = Path(snakemake.output.jobs)
    rows = measured_jobs(output.parent)
    if output.parent != Path("results"):  # Snakemake's local copy of a bucket
        logging.warning(
            "Results are in a bucket, and of measurements there is here only what this machine made: the table has %d "
            "jobs and lacks all others. docs/clusters.md says where these are.",
            len(rows),
        )
    write_table(output, COSTS, rows)
    provenance = {"commit": commit(), **snakemake.params.provenance}
    write_table_files(cost_table(rows, snakemake.params.stages, provenance), snakemake.output.tables)
