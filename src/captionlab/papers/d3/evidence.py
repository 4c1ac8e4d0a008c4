"""Evidence on the paper's claims: differences between roles."""

from captionlab.papers.d3.values import FOUND
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.claims.printed import Sides
from captionlab.reporting.claims.reading import read_evidence
from captionlab.reporting.runs.values import Row

# Roles between which the abstract prints differences: the whole method, and the previous work.
METHOD, PREVIOUS = "HolisticCap BagCurri", "COCO SR"


def evidence(inputs: Row, params: Row) -> Evidence:
    """Return the differences by corpus."""
    labels = {corpus: label for label, corpus in sorted(params["config"]["corpora"].items())}
    return read_evidence(inputs, params, sides_of, labels)


def sides_of(row: Row) -> Sides | None:
    """Return the published difference of a row as its first side, if the abstract prints one."""
    if (row["subject"], row["against"], row["measure"]) != (METHOD, PREVIOUS, FOUND):
        return None
    return {(METHOD, row["corpus"], f"{FOUND} against {PREVIOUS}"): 1.0}, 0.0
