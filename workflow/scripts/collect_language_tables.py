"""Make the tables on language from what was measured of the captions of several captioners."""

from typing import Any

from captionlab.language.schemas import NGRAMS, PATTERNS, STATISTICS
from captionlab.provenance import commit
from captionlab.reporting.language import patterns_table, statistics_table, unigrams_table
from captionlab.reporting.render import write_table_files
from captionlab.scripting import script
from captionlab.tables import TableSchema, read_table


@script
def main(snakemake: Any) -> None:
    captioners = snakemake.params.captioners
    provenance = {"commit": commit(), **snakemake.params.provenance}

    def by_captioner(paths: list[str], kind: TableSchema) -> dict[str, list[dict[str, Any]]]:
        return {name: read_table(path, kind).to_pylist() for name, path in zip(captioners, paths, strict=True)}

    for table in (
        statistics_table(by_captioner(snakemake.input.statistics, STATISTICS), provenance),
        patterns_table(by_captioner(snakemake.input.patterns, PATTERNS), provenance),
        unigrams_table(by_captioner(snakemake.input.unigrams, NGRAMS), provenance),
    ):
        write_table_files(table, [path for path in snakemake.output.tables if f"/{table.name}." in str(path)])
