"""Copy a table of the run into the folder of all tables."""

from captionlab.jobs.scripting import script
from captionlab.reporting.tables.collection import collect_one


@script
def main(snakemake):
    collect_one(snakemake.input[0], snakemake.output[0])
