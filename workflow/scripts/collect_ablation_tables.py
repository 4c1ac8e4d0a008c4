"""Put the ablations of this run into the tables of the discritune paper, the published numbers beside them."""

from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.papers.discritune.variant_tables import ablation_tables
from captionlab.provenance import commit
from captionlab.reporting.published import read_published
from captionlab.reporting.render import write_table_files
from captionlab.scripting import run
from captionlab.tables import read_metadata, read_table


def main(snakemake: Any) -> None:
    params, paths = snakemake.params, snakemake.input
    provenance = {"commit": commit(), **params.provenance, **read_metadata(paths.values)}
    tables = ablation_tables(
        read_table(paths.values, ROLE_VALUES).to_pylist(),
        read_table(paths.differences, ROLE_DIFFERENCES).to_pylist(),
        read_published(paths.published),
        params.config,
        params.retrievers,
        provenance,
    )
    for table in tables:
        write_table_files(table, [path for path in snakemake.output if f"/{table.name}." in path])


if __name__ == "__main__":
    run(main, globals())
