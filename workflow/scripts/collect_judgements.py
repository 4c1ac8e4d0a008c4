"""Write the table of how well metrics agree with people who judged captions."""

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.judgements.schemas import CORRELATIONS
from captionlab.reporting.claims.reading import read_by
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.judgements_table import judgements_table


@script
def main(snakemake):
    params = snakemake.params
    correlations = read_by(params.judgements, snakemake.input.correlations, CORRELATIONS)
    table = judgements_table(correlations, params.simulated, {"commit": commit(), **params.provenance})
    write_table_files(table, snakemake.output.tables)
