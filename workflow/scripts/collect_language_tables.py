"""Make the tables on language from the measures of the captions of several captioners."""

from captionlab.jobs.provenance import commit, part_of
from captionlab.jobs.scripting import script
from captionlab.language.schemas import NGRAMS, PATTERNS, STATISTICS
from captionlab.reporting.claims.reading import read_by
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.language import patterns_table, statistics_table, unigrams_table


@script
def main(snakemake):
    params, provenance = snakemake.params, {"commit": commit(), **snakemake.params.provenance}
    for tabulate, name, kind in (
        (statistics_table, "statistics", STATISTICS),
        (patterns_table, "patterns", PATTERNS),
        (unigrams_table, "unigrams", NGRAMS),
    ):
        with part_of(snakemake.input) as inputs:
            table = tabulate(read_by(params.captioners, inputs[name], kind), provenance)
            outputs = [path for path in snakemake.output.tables if f"/{table.name}." in str(path)]
            write_table_files(table, outputs)
            inputs.makes(outputs)
