"""Write the rankings of captioners by pairwise preferences into one table."""

from captionlab.comparisons.schemas import RANKINGS
from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.claims.reading import read_by
from captionlab.reporting.tables.comparisons_table import comparisons_table
from captionlab.reporting.tables.formats.files import write_table_files


@script
def main(snakemake):
    params = snakemake.params
    rankings = read_by(list(params.models), snakemake.input.rankings, RANKINGS)
    table = comparisons_table(rankings, params.models, {"commit": commit(), **params.provenance})
    write_table_files(table, snakemake.output.tables)
