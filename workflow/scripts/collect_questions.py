"""Write the shares of questions that captions answer into one table."""

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.questions_table import questions_table
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import read_table


@script
def main(snakemake):
    summary = read_table(snakemake.input.summary, SUMMARY).to_pylist()
    comparisons = read_table(snakemake.input.comparisons, COMPARISONS).to_pylist()
    table = questions_table(summary, comparisons, {"commit": commit(), **snakemake.params.provenance})
    write_table_files(table, snakemake.output.tables)
