"""Write every metric of the run into one table."""

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.evaluation_table import evaluation_table
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import read_metadata, read_table


@script
def main(snakemake):
    summary = read_table(snakemake.input.summary, SUMMARY).to_pylist()
    provenance = {"commit": commit(), **snakemake.params.provenance, **read_metadata(snakemake.input.summary)}
    comparisons = read_table(snakemake.input.comparisons, COMPARISONS).to_pylist()
    write_table_files(
        evaluation_table(summary, comparisons, snakemake.params.humans, provenance), snakemake.output.tables
    )
