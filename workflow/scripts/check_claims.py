"""Judge the claims of the papers by the comparisons of this run."""

from typing import Any

from captionlab.provenance import commit
from captionlab.reporting.claims import claims_table, read_claims
from captionlab.reporting.measurements import Measurements
from captionlab.reporting.render import write_table_files
from captionlab.reporting.reproduction import Reproduction
from captionlab.scripting import run
from captionlab.tables import COMPARISONS, SUMMARY, read_metadata, read_table


def main(snakemake: Any) -> None:
    summary = read_table(snakemake.input.summary, SUMMARY).to_pylist()
    comparisons = read_table(snakemake.input.comparisons, COMPARISONS).to_pylist()
    runs = {}
    for name, block in snakemake.params.config.items():
        paper = Reproduction(block, snakemake.params.lineage)
        runs[name] = (paper, Measurements(summary, comparisons, paper.evaluations))
    provenance = {"commit": commit(), **snakemake.params.provenance, **read_metadata(snakemake.input.summary)}
    table = claims_table(read_claims(snakemake.input.claims), runs, provenance)
    write_table_files(table, list(snakemake.output))


if __name__ == "__main__":
    run(main, globals())
