"""What the paper's claims are judged by: its captioners, differences, variants, and the answers of people."""

from collections.abc import Mapping
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.papers.discritune.finetuning import GAIN_ON
from captionlab.papers.discritune.layouts import TEXT_HEADINGS
from captionlab.papers.discritune.study import BOUNDS, study_differences
from captionlab.reporting.evidence import Evidence
from captionlab.reporting.printed import Row, Sides, apart, pair, printed_difference
from captionlab.reporting.published import Published, read_published
from captionlab.reporting.reproduction import Reproduction
from captionlab.schemas import COMPARISONS, SUMMARY
from captionlab.study.schemas import ACCURACY, PAIRWISE
from captionlab.tables import read_table

# Tables of one test, of other captioners.
TOGETHER = [("1", "4")]


def evidence(inputs: Mapping[str, Any], params: Mapping[str, Any]) -> Evidence:
    """Differences by the paper's labels, and its captioners with their values."""
    block = params["config"]
    differences = [
        {**row, "corpus": _labels(block, row).get(row["corpus"], row["corpus"])}
        for row in read_table(inputs["differences"], ROLE_DIFFERENCES).to_pylist()
    ]
    if "study_pairwise" in inputs:
        accuracy = read_table(inputs["study_accuracy"], ACCURACY).to_pylist()
        pairwise = read_table(inputs["study_pairwise"], PAIRWISE).to_pylist()
        differences += study_differences(accuracy, pairwise, block["captioners"])
    paper = Reproduction(block, params["lineage"])
    summary, comparisons = read_table(inputs["summary"], SUMMARY), read_table(inputs["comparisons"], COMPARISONS)
    run = paper.run(summary.to_pylist(), comparisons.to_pylist())
    published = read_published(inputs["published"]) if block["comparable"] else None
    retriever = next(iter(paper.retrievers_of(run)), None)
    return Evidence(differences, lambda row: printed_row(published, row, retriever, paper.parents()), (paper, run))


def printed_row(
    published: Published | None, row: Row, retriever: str | None, parents: Mapping[str, str]
) -> float | None:
    """What the paper prints of a row.

    `retriever` stands for the paper's: by others it has no numbers. `parents` are the paper's labels of captioners
    before finetuning, by those after it: who has none has no gain.
    """
    return printed_difference(published, row, lambda place: _sides(place, retriever, parents), TOGETHER)


def _labels(paper: Mapping[str, Any], row: Row) -> dict[str, str]:
    """The paper's labels of corpora by name, of variants those of their own; of two labels of a corpus the last."""
    corpora = paper.get("variants", {}).get(row["experiment"], paper).get("corpora", {})
    return {name: label for label, name in sorted(corpora.items())}


def _sides(row: Row, retriever: str | None, parents: Mapping[str, str]) -> Sides | None:
    subject, against, corpus = row["subject"], row["against"], row["corpus"]
    if row["scorer"] not in (None, retriever):
        return None
    metric = TEXT_HEADINGS.get(row["measure"], str(row["measure"]))
    if row["experiment"] == "gains":
        if subject not in parents:
            return None
        gains = [
            apart((subject, text, metric), (parents[subject], text, metric))
            for text in (corpus, against.removeprefix(GAIN_ON))
        ]
        return gains[0], gains[1]
    if against in BOUNDS:
        return {(subject, corpus, metric): 1.0}, BOUNDS[against]
    return pair((subject, corpus, metric), (against, corpus, metric))
