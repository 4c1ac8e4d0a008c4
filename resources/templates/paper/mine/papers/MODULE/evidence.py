"""Evidence for the claims of the paper, which makes none."""

from captionlab.reporting.claims.evidence import Evidence


def evidence(inputs, params):
    """Return no differences."""
    return Evidence([], lambda row: None)
