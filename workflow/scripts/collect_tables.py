"""Copy all tables of the run into one folder with an index."""

from captionlab.reporting.collection import collect
from captionlab.scripting import script


@script
def main(snakemake):
    collect(snakemake.input.tables, snakemake.output[0])
