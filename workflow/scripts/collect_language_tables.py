"""Make the tables on language from what was measured of the captions of several captioners."""

from captionlab.language.schemas import NGRAMS, PATTERNS, STATISTICS
from captionlab.provenance import commit
from captionlab.reporting.language import patterns_table, statistics_table, unigrams_table
from captionlab.reporting.render import write_table_files
from captionlab.scripting import script
from captionlab.tables import read_table


@script
def main(snakemake):
    inputs, provenance = snakemake.input, {"commit": commit(), **snakemake.params.provenance}
    for tabulate, paths, kind in (
        (statistics_table, inputs.statistics, STATISTICS),
        (patterns_table, inputs.patterns, PATTERNS),
        (unigrams_table, inputs.unigrams, NGRAMS),
    ):
        rows = [read_table(path, kind).to_pylist() for path in paths]
        table = tabulate(dict(zip(snakemake.params.captioners, rows, strict=True)), provenance)
        write_table_files(table, [path for path in snakemake.output.tables if f"/{table.name}." in str(path)])
