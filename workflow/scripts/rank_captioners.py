"""Rank captioners by the preferences of a model between their captions."""

from captionlab.comparisons.ranking import ranking_rows
from captionlab.comparisons.schemas import PREFERENCES, RANKINGS
from captionlab.jobs.scripting import script
from captionlab.storage.tables import read_metadata, read_table, write_table


@script
def main(snakemake):
    input, output, params = snakemake.input, snakemake.output, snakemake.params
    preferences = read_table(input.preferences, PREFERENCES).to_pylist()
    rows = ranking_rows(preferences, params.captioners, params.seed)
    write_table(output.rankings, RANKINGS, rows, {"models": read_metadata(input.preferences)["models"]})
