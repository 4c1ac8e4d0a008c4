"""Write a table with the rows and columns that a choice file names."""

from pathlib import Path

from captionlab.config.own_tables import WIDTHS, read_choice
from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.formats.files import write_table_files, write_text
from captionlab.reporting.tables.formats.own_latex import own_latex
from captionlab.reporting.tables.own_files import read_numbers
from captionlab.reporting.tables.own_table import own_table
from captionlab.storage.tables import read_metadata


@script
def main(snakemake):
    files, params = snakemake.input, snakemake.params
    choice = read_choice(files.choice)
    numbers = read_numbers(files.summary, files.comparisons, files.tables, params.papers, params.humans)
    provenance = {"commit": commit(), **params.provenance, **read_metadata(files.summary)}
    table = own_table(snakemake.wildcards.name, choice, files.choice, numbers, provenance)
    write_table_files(table, [path for path in snakemake.output.tables if Path(path).suffix != ".tex"])
    write_text(snakemake.output.latex, own_latex(table, WIDTHS[choice.width]))
