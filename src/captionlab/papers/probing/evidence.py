"""What the paper's claims are judged by: differences between roles and between captions that were constructed."""

from collections.abc import Mapping
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.papers.probing.roles import HALF
from captionlab.papers.probing.scores import METRICS, PATTERN_RATIOS, STATISTICS
from captionlab.reporting.evidence import Evidence
from captionlab.reporting.printed import Row, Sides, apart, pair, printed_difference
from captionlab.reporting.published import Published, read_published
from captionlab.tables import read_table

HEADINGS = {
    **{measure: heading for heading, measure in METRICS.items()},
    **{measure: heading for heading, (measure, _) in STATISTICS.items()},
    **PATTERN_RATIOS,
    "first pattern": PATTERN_RATIOS["published pattern"],  # the paper found it in the captions of its own captioner
}


def evidence(inputs: Mapping[str, Any], params: Mapping[str, Any]) -> Evidence:
    """Differences by the paper's labels."""
    labels = {name: label for label, name in sorted(params["config"]["corpora"].items())}
    differences = [
        {**row, "corpus": labels.get(row["corpus"], row["corpus"])}
        for row in read_table(inputs["differences"], ROLE_DIFFERENCES).to_pylist()
    ]
    published = read_published(inputs["published"]) if params["config"]["comparable"] else None
    return Evidence(differences, lambda row: printed_row(published, row))


def printed_row(published: Published | None, row: Row) -> float | None:
    """What the paper prints of a row."""
    return printed_difference(published, row, _sides)


def _sides(row: Row) -> Sides | None:
    subject, against, corpus, measure, scorer = (
        row[name] for name in ("subject", "against", "corpus", "measure", "scorer")
    )
    if (row["experiment"], row["source"], measure) == ("template", "published", "score"):  # Table 7
        return pair((scorer, corpus, "Recons."), (scorer, corpus, against))
    if row["experiment"] != "generated":
        return None
    if measure == "repeated nouns":
        of_all, distinct = HEADINGS["nouns"], HEADINGS["distinct nouns"]
        repeated = [apart((role, corpus, of_all), (role, corpus, distinct)) for role in (subject, against)]
        return repeated[0], repeated[1]
    metric = f"score by {scorer}" if scorer else HEADINGS.get(measure, measure)
    if against == HALF:
        return {(subject, corpus, metric): 1.0}, 50.0
    return pair((subject, corpus, metric), (against, corpus, metric))
