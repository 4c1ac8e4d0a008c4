"""Evidence on the paper's claims: differences between roles, and between constructed captions."""

from captionlab.papers.probing.constructed import HALF
from captionlab.papers.probing.scores import METRICS, PATTERN_RATIOS, STATISTICS
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.claims.printed import Row, Sides, apart, pair
from captionlab.reporting.claims.reading import read_evidence

HEADINGS = {
    **{measure: heading for heading, measure in METRICS.items()},
    **{measure: heading for heading, (measure, _) in STATISTICS.items()},
    **PATTERN_RATIOS,
    # The paper found this pattern in the captions of its own captioner.
    "first pattern": PATTERN_RATIOS["published pattern"],
}


def evidence(inputs: Row, params: Row) -> Evidence:
    """Return the differences with the paper's labels."""
    corpora = {name: label for label, name in sorted(params["config"]["corpora"].items())}
    return read_evidence(inputs, params, sides_of, corpora)


def sides_of(row: Row) -> Sides | None:
    """Return the published numbers for the two sides of a row, or None."""
    subject, against, corpus, measure, scorer = (
        row[name] for name in ("subject", "against", "corpus", "measure", "scorer")
    )
    if (row["experiment"], row["source"], measure) == ("template", "published", "score"):  # Table 7
        return pair((scorer, corpus, "Recons."), (scorer, corpus, against))
    if row["experiment"] != "generated":
        return None
    if measure == "repeated nouns":
        of_all, distinct = HEADINGS["nouns"], HEADINGS["distinct nouns"]
        first, second = (apart((role, corpus, of_all), (role, corpus, distinct)) for role in (subject, against))
        return first, second
    metric = f"score by {scorer}" if scorer else HEADINGS.get(measure, measure)
    if against == HALF:
        return {(subject, corpus, metric): 1.0}, 50.0
    return pair((subject, corpus, metric), (against, corpus, metric))
