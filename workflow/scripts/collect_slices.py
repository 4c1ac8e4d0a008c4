"""Write the values of slices into one table."""

from captionlab.evaluation.schemas import SLICES
from captionlab.evaluation.slices import LEFT_OUT
from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.slices_table import slices_table
from captionlab.storage.tables import read_metadata, read_table


@script
def main(snakemake):
    rows = read_table(snakemake.input.slices, SLICES).to_pylist()
    metadata = read_metadata(snakemake.input.slices)
    left_out = metadata.pop(LEFT_OUT, {})
    provenance = {"commit": commit(), **snakemake.params.provenance, **metadata}
    write_table_files(slices_table(rows, left_out, provenance), snakemake.output.tables)
