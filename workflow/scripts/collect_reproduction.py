"""Summarise which claims of the papers hold in this run, and compare its numbers with the published numbers."""

from collections import defaultdict
from pathlib import Path

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.claims.reproduction_table import reproduction_table
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.storage import paths


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    numbers = defaultdict(dict)
    for path in inputs.numbers:
        numbers[paths.owner_of(path)][Path(path).stem] = read_records(path)
    provenance = {"commit": commit(), **params.provenance}
    table = reproduction_table(read_records(inputs.claims), numbers, params.papers, provenance)
    write_table_files(table, snakemake.output.tables)
