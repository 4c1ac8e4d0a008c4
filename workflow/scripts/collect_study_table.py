"""Put the results of the study into the form of Table 6 of the discritune paper."""

from typing import Any

from captionlab.papers.discritune.study import study_table
from captionlab.provenance import commit
from captionlab.reporting.language import Paper
from captionlab.reporting.published import read_published
from captionlab.reporting.render import write_table_files
from captionlab.scripting import run
from captionlab.study.schemas import ACCURACY, AGREEMENT, PAIRWISE, PARTICIPANTS
from captionlab.tables import read_table


def main(snakemake: Any) -> None:
    params = snakemake.params
    kinds = {"accuracy": ACCURACY, "pairwise": PAIRWISE, "agreement": AGREEMENT, "participants": PARTICIPANTS}
    results = {name: read_table(snakemake.input[name], kind).to_pylist() for name, kind in kinds.items()}
    table = study_table(
        snakemake.wildcards.participants,
        results,
        params.captioners,
        params.corpus,
        Paper(read_published(snakemake.input.published), params.paper),
        {"commit": commit(), **params.provenance},
    )
    write_table_files(table, snakemake.output.tables)


if __name__ == "__main__":
    run(main, globals())
