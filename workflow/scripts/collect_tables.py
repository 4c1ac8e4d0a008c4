"""Copy all tables of the run into one folder with an index."""

from captionlab.jobs.scripting import script
from captionlab.reporting.tables.collection import Listed, collect


@script
def main(snakemake):
    params = snakemake.params
    figures, caveats = snakemake.input.figures, params.get("caveats", [])
    listed = Listed(params.papers, figures, params.figures, params.pages, caveats, params.tables_of_figures)
    collect(snakemake.input.tables, snakemake.output[0], snakemake.input.pictures, listed)
