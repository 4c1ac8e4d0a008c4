"""Write the tables of how well metrics agree with people who judged captions."""

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES, SLICES
from captionlab.reporting.claims.reading import read_by
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.judgement_differences_table import judgement_differences_table
from captionlab.reporting.tables.judgement_slices_table import judgement_slices_table
from captionlab.reporting.tables.judgements_table import judgements_table


@script
def main(snakemake):
    input, output, params = snakemake.input, snakemake.output, snakemake.params
    provenance = {"commit": commit(), **params.provenance}
    for paths, kind, outputs, table_of in (
        (input.correlations, CORRELATIONS, output.tables, judgements_table),
        (input.differences, DIFFERENCES, output.differences, judgement_differences_table),
        (input.slices, SLICES, output.slices, judgement_slices_table),
    ):
        table = table_of(read_by(params.judgements, paths, kind), params.simulated, provenance)
        write_table_files(table, outputs)
