"""Evidence on the paper's claims: differences between models, and between pieces, on foils of VALSE."""

from captionlab.config.papers import pooled_sets
from captionlab.judgements.schemas import FOIL_DIFFERENCES
from captionlab.papers.valse.values import LANGUAGE_MODEL, PIECES, difference_rows
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.claims.printed import Sides, pair, printed_difference
from captionlab.reporting.claims.reading import read_by
from captionlab.reporting.runs.published import read_published
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.cells import places_behind

AVERAGE = "average"
# The better of the paper's two language models, by its average.
BETTER_LANGUAGE_MODEL = "GPT1"


def evidence(inputs: Row, params: Row) -> Evidence:
    """Return the differences with the paper's labels of models and of benchmarks."""
    block, differences = params["config"], []
    sets = pooled_sets(block["judgements"])
    for label, rows in read_by(params["labels"], inputs["differences"], FOIL_DIFFERENCES).items():
        of_label = difference_rows(rows, sets[label], block["scorers"])
        differences += [{**row, "corpus": label, "places": places_behind(row)} for row in of_label]
    published = read_published(inputs["published"])
    comparable = block["comparable"] and not params["made_up"]
    return Evidence(differences, lambda row: printed_difference(published, row, sides_of), comparable=comparable)


def sides_of(row: Row) -> Sides | None:
    """Return the published numbers for the two sides of a row: two models on a piece, or a model on two pieces."""
    subject, against, source, measure = (row[name] for name in ("subject", "against", "source", "measure"))
    if row["experiment"] == PIECES:
        return pair((_printed(source), measure, subject), (_printed(source), measure, against))
    piece = source or AVERAGE
    return pair((_printed(subject), measure, piece), (_printed(against), measure, piece))


def _printed(model: str) -> str:
    return BETTER_LANGUAGE_MODEL if model == LANGUAGE_MODEL else model
