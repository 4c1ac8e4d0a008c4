"""Sum up which claims of the papers hold in this run, and how its numbers stand to the published ones."""

import csv
from collections import defaultdict
from pathlib import Path

from captionlab import paths
from captionlab.provenance import commit
from captionlab.reporting.formats.files import write_table_files
from captionlab.reporting.reproduction_table import reproduction_table
from captionlab.scripting import script


def read_rows(path: str) -> list[dict[str, str]]:
    """The records of a table, as text."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    numbers = defaultdict(dict)
    for path in inputs.numbers:
        numbers[paths.owner_of(path)][Path(path).stem] = read_rows(path)
    provenance = {"commit": commit(), **params.provenance}
    table = reproduction_table(read_rows(inputs.claims), numbers, params.papers, provenance)
    write_table_files(table, snakemake.output.tables)
