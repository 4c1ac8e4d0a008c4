"""Judge the claims of the papers by the comparisons of this run."""

from collections.abc import Mapping
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.papers.discritune.study import study_differences
from captionlab.provenance import commit
from captionlab.reporting.claims import claims_table, read_claims
from captionlab.reporting.measurements import Measurements
from captionlab.reporting.published import read_published
from captionlab.reporting.render import write_table_files
from captionlab.reporting.reproduction import Reproduction
from captionlab.schemas import COMPARISONS, SUMMARY
from captionlab.scripting import run
from captionlab.study.schemas import ACCURACY, PAIRWISE
from captionlab.tables import read_metadata, read_table

# Papers whose claims rest on tables of differences alone.
OF_ROLES = ("probing", "scenes")


def main(snakemake: Any) -> None:
    summary = read_table(snakemake.input.summary, SUMMARY).to_pylist()
    comparisons = read_table(snakemake.input.comparisons, COMPARISONS).to_pylist()
    runs = {}
    # Captioners that play roles, several of them one: such claims rest on a table of differences.
    differences = {
        name: [
            {**row, "corpus": labels(block, row).get(row["corpus"], row["corpus"])}
            for path in (getattr(snakemake.input, name), *(snakemake.input.ablations if "ablations" in block else ()))
            for row in read_table(path, ROLE_DIFFERENCES).to_pylist()
        ]
        for name, block in snakemake.params.config.items()
    }
    for name, block in snakemake.params.config.items():
        if name in OF_ROLES:
            continue
        differences[name] += of_people(snakemake.input, block)
        paper = Reproduction(block, snakemake.params.lineage)
        measured = Measurements(summary, comparisons, paper.evaluations)
        runs[name] = (paper, measured)
    published = {
        numbers.paper: numbers
        for numbers in map(read_published, snakemake.input.published)
        if numbers.paper in snakemake.params.config and snakemake.params.config[numbers.paper]["comparable"]
    }
    provenance = {"commit": commit(), **snakemake.params.provenance, **read_metadata(snakemake.input.summary)}
    table = claims_table(read_claims(snakemake.input.claims), runs, provenance, differences, published)
    write_table_files(table, snakemake.output.tables)


def of_people(inputs: Any, paper: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What people's answers in the study say; nothing where nobody took part."""
    if not hasattr(inputs, "pairwise"):
        return []
    accuracy = read_table(inputs.accuracy, ACCURACY).to_pylist()
    return study_differences(accuracy, read_table(inputs.pairwise, PAIRWISE).to_pylist(), paper["captioners"])


def labels(paper: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, str]:
    """The paper's labels of corpora by name, of an ablation those of its own; of two labels of a corpus the last."""
    corpora = paper.get("ablations", {}).get(row["experiment"], paper).get("corpora", {})
    return {name: label for label, name in sorted(corpora.items())}


if __name__ == "__main__":
    run(main, globals())
