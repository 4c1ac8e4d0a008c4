"""Put this run's numbers into the tables of the discritune paper, the published ones beside them."""

from typing import Any

from captionlab.papers.discritune.tables import discritune_tables
from captionlab.provenance import commit
from captionlab.reporting.measurements import Measurements
from captionlab.reporting.published import read_published
from captionlab.reporting.render import write_table_files
from captionlab.reporting.reproduction import Reproduction
from captionlab.schemas import COMPARISONS, SUMMARY
from captionlab.scripting import run
from captionlab.tables import read_metadata, read_table


def main(snakemake: Any) -> None:
    paper = Reproduction(snakemake.params.config, snakemake.params.lineage)
    measurements = Measurements(
        read_table(snakemake.input.summary, SUMMARY).to_pylist(),
        read_table(snakemake.input.comparisons, COMPARISONS).to_pylist(),
        paper.evaluations,
    )
    provenance = {"commit": commit(), **snakemake.params.provenance, **read_metadata(snakemake.input.summary)}
    published = read_published(snakemake.input.published)
    for table in discritune_tables(measurements, published, paper, provenance):
        # Those that the config asks for.
        write_table_files(table, [path for path in snakemake.output if f"/{table.name}." in path])


if __name__ == "__main__":
    run(main, globals())
