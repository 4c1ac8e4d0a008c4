"""Evidence on the paper's claims: differences between models on an axis."""

from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.claims.printed import Sides, pair
from captionlab.reporting.claims.reading import read_evidence
from captionlab.reporting.runs.values import Row


def evidence(inputs: Row, params: Row) -> Evidence:
    """Return the differences by axis."""
    axes = {corpus: axis for axis, corpus in sorted(params["config"]["corpora"].items())}
    return read_evidence(inputs, params, sides_of, axes)


def sides_of(row: Row) -> Sides | None:
    """Return the published numbers for the two sides of a row."""
    subject, against, axis, measure = (row[name] for name in ("subject", "against", "corpus", "measure"))
    return pair((subject, axis, measure), (against, axis, measure))
