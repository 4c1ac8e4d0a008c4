"""Make the tables on language from what was measured of the captions of several captioners."""

from typing import Any

from captionlab.language.schemas import ASSOCIATIONS, NGRAMS, PATTERNS, STATISTICS
from captionlab.provenance import commit
from captionlab.reporting.language import (
    Paper,
    associations_table,
    corpora_of,
    patterns_table,
    statistics_table,
    unigrams_table,
)
from captionlab.reporting.published import read_published
from captionlab.reporting.render import write_table_files
from captionlab.scripting import run
from captionlab.tables import Kind, read_table


def main(snakemake: Any) -> None:
    captioners, types = snakemake.params.captioners, snakemake.params.caption_types
    provenance = {"commit": commit(), **snakemake.params.provenance}

    def by_captioner(paths: list[str], kind: Kind) -> dict[str, list[dict[str, Any]]]:
        return {name: read_table(path, kind).to_pylist() for name, path in zip(captioners, paths, strict=True)}

    discritune = Paper(read_published(snakemake.input.published), snakemake.params.config)
    statistics = by_captioner(snakemake.input.statistics, STATISTICS)
    associations = read_table(snakemake.input.associations, ASSOCIATIONS).to_pylist()
    for table in (
        statistics_table(statistics, provenance),
        patterns_table(by_captioner(snakemake.input.patterns, PATTERNS), provenance),
        unigrams_table(by_captioner(snakemake.input.unigrams, NGRAMS), provenance),
        *(
            associations_table(associations, types, corpora_of(statistics), tag, discritune, provenance)
            for tag in ("ADJ", "NOUN")
        ),
    ):
        write_table_files(table, [path for path in snakemake.output if f"/{table.name}." in str(path)])


if __name__ == "__main__":
    run(main, globals())
