"""Evidence on the paper's claims: differences between metrics in their agreement with human judgements."""

from captionlab.config.papers import pooled_sets
from captionlab.judgements.schemas import DIFFERENCES
from captionlab.papers.clipscore.values import difference_rows
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.claims.printed import Sides, pair, printed_difference
from captionlab.reporting.claims.reading import read_by
from captionlab.reporting.runs.published import read_published
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.cells import places_behind


def evidence(inputs: Row, params: Row) -> Evidence:
    """Return the differences with the paper's labels of metrics and of judgements."""
    encoder, sets, differences = params["config"]["encoder"], pooled_sets(params["config"]["judgements"]), []
    for label, rows in read_by(params["labels"], inputs["differences"], DIFFERENCES).items():
        of_label = difference_rows(rows, label, sets[label], encoder)
        differences += [{**row, "corpus": label, "places": places_behind(row)} for row in of_label]
    published, comparable = read_published(inputs["published"]), params["config"]["comparable"]
    return Evidence(differences, lambda row: printed_difference(published, row, sides_of), comparable=comparable)


def sides_of(row: Row) -> Sides | None:
    """Return the published numbers for the two sides of a row."""
    subject, against, corpus, measure = (row[name] for name in ("subject", "against", "corpus", "measure"))
    return pair((subject, corpus, measure), (against, corpus, measure))
