"""Copy all tables of the run into one folder with an index."""

from captionlab.jobs.scripting import script
from captionlab.reporting.tables.collection import Listed, collect


@script
def main(snakemake):
    params = snakemake.params
    listed = Listed(params.papers, snakemake.input.figures, params.figures, params.pages, params.get("caveats", []))
    collect(snakemake.input.tables, snakemake.output[0], snakemake.input.pictures, listed)
