"""Copy a table of the run into the folder of all tables."""

from captionlab.reporting.collection import collect_one
from captionlab.scripting import script


@script
def main(snakemake):
    collect_one(snakemake.input[0], snakemake.output[0])
