"""Write the page on which a reader chooses and copies a table."""

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.formats.files import write_text
from captionlab.reporting.tables.own_files import read_numbers
from captionlab.reporting.tables.own_page import make_table_page
from captionlab.storage.tables import read_metadata


@script
def main(snakemake):
    files, params = snakemake.input, snakemake.params
    numbers = read_numbers(files.summary, files.comparisons, files.tables, params.papers, params.humans)
    provenance = {"commit": commit(), **params.provenance, **read_metadata(files.summary)}
    write_text(snakemake.output[0], make_table_page(numbers, provenance))
