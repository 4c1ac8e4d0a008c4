"""Write the differences between captioners into one table."""

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.differences_table import differences_table
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.storage.schemas import COMPARISONS
from captionlab.storage.tables import read_table


@script
def main(snakemake):
    comparisons = read_table(snakemake.input.comparisons, COMPARISONS).to_pylist()
    table = differences_table(comparisons, {"commit": commit(), **snakemake.params.provenance})
    write_table_files(table, snakemake.output.tables)
