"""Tables 1 and 2: how metrics agree with people on Flickr8k, this run's numbers with the published ones beside them."""

from collections.abc import Iterator, Mapping
from functools import partial

from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES
from captionlab.papers.clipscore.paper import TABLES as NAMES
from captionlab.papers.clipscore.run import COEFFICIENTS, EXPERIMENT, METRICS, difference_rows, labelled, value_rows
from captionlab.reporting.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.footnotes import OVER_IMAGES
from captionlab.reporting.judgements_table import SIMULATED_NOTE
from captionlab.reporting.published import read_published
from captionlab.reporting.reading import Provenance, Rows, read_by
from captionlab.reporting.render import Block, Table, Value
from captionlab.reporting.reproduction import in_order
from captionlab.reporting.runs import Row, Run
from captionlab.reporting.sheets import Sheet

# What the others are held against: the metric against references that captioners are compared by most.
AGAINST = "CIDEr"
NUMBERS = {"Flickr8k-Expert": "1", "Flickr8k-CF": "2"}
PEOPLE = {"Flickr8k-Expert": "ratings of captions by experts", "Flickr8k-CF": "shares of a crowd who accept a caption"}


class AgreementSheet(Sheet):
    """A sheet that knows why a metric has no number: the notes of CORRELATIONS, by the label of the metric."""

    def __init__(self, run: Run, provenance: Provenance, reasons: Mapping[str, str]):
        super().__init__(run, provenance, of_roles=False)
        self.reasons = reasons

    def why_missing(self, place: Mapping[str, Value]) -> str:
        """The note on the metric, or that it is not in the run."""
        subject = str(place["subject"])
        return self.reasons.get(subject, f"{subject} is not in this run.")


def _table(label: str, inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    if label in params["labels"]:
        rows = read_by(params["labels"], inputs["correlations"], CORRELATIONS)[label]
        differences = read_by(params["labels"], inputs["differences"], DIFFERENCES)[label]
        yield agreement_table(label, rows, differences, inputs["published"], params, provenance)


TABLES = tuple(partial(_table, label) for label in NAMES)


def agreement_table(
    label: str, correlations: Rows, differences: Rows, published: str, params: Row, provenance: Provenance
) -> Table:
    """The table of one set of judgements, from its rows of CORRELATIONS and DIFFERENCES."""
    block, simulated = params["config"], label in params["simulated"]
    name, encoder, coefficient = block["judgements"][label], block["encoder"], COEFFICIENTS[label]
    run = Run(
        value_rows(correlations, label, name, encoder),
        difference_rows(differences, label, name, encoder),
        read_published(published),
        block["comparable"] and not simulated,
        {label: name},
    )
    of_paper = [row for row in correlations if row["coefficient"] == coefficient]
    noted = {labelled(row["metric"], row["scorer"], encoder): row for row in of_paper}
    reasons = {metric: f"{metric}: {row['note']}." for metric, row in noted.items() if row["note"]}
    sheet = AgreementSheet(run, provenance, reasons)
    judgements = max((row["n"] for row in of_paper), default=0)
    sheet.notes += [SIMULATED_NOTE] if simulated else []
    sheet.notes += [f"{judgements} judgements, each an observation of its own.", OVER_IMAGES]
    sheet.notes += [note for metric, note in reasons.items() if run.found("subject", EXPERIMENT, subject=metric)]
    numbers = [
        Number({}, coefficient, printed=coefficient),
        Number({}, "difference", f"from {AGAINST}", against=AGAINST),
    ]
    place = {"measure": coefficient, "experiment": EXPERIMENT}
    lines = [
        Line([one], {"subject": one, **place}, one)
        for one in in_order({*METRICS.values(), *noted}, [*METRICS.values()])
    ]
    rows = rows_of(sheet, NUMBERS[label], label, name, lines, numbers)
    title = f"CLIPScore, table {NUMBERS[label]}: how metrics agree with people on {label}"
    if simulated:
        title = f"Simulated judgements in place of table {NUMBERS[label]} of CLIPScore: how metrics agree with them"
    return sheet.table(
        f"clipscore_{NAMES[label]}",
        title,
        f"Kendall's {coefficient}, times 100, of each metric of a caption with "
        f"{'simulated ratings' if simulated else PEOPLE[label]}, with its 95 % interval over images.",
        columns_of(["metric"], numbers),
        [Block(rows, sheet.heading(label))],
    )
