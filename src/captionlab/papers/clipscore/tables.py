"""Tables 1 to 5: agreement of metrics with judgements of captions, with published numbers beside ours."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from captionlab.config.papers import pooled_sets
from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES
from captionlab.papers.clipscore.config import JUDGED_TABLES, RATED
from captionlab.papers.clipscore.values import COEFFICIENTS, EXPERIMENT, METRICS, difference_rows, labelled, value_rows
from captionlab.reporting.claims.reading import Provenance, Rows, read_by
from captionlab.reporting.runs.published import read_published
from captionlab.reporting.runs.reproduction import in_order
from captionlab.reporting.runs.values import PaperRun, Row
from captionlab.reporting.tables.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.judgements_table import SIMULATED_NOTE
from captionlab.reporting.tables.render import Block, Table, Value
from captionlab.reporting.tables.sheets import Sheet

# Metric that the others are compared with: captioners are compared most often by this reference-based metric.
AGAINST = "CIDEr"
# Description of the numbers and judgements of each table.
PRINTED = {
    "table1_expert": "Kendall's tau-c, times 100, of each metric of a caption with ratings of captions by experts",
    "table2_cf": "Kendall's tau-b, times 100, of each metric of a caption with shares of a crowd who accept a caption",
    "table3_composite": "Kendall's tau-c, times 100, of each metric of a caption with ratings by crowd workers, of "
    "captions of three corpora together",
    "table4_pascal": "How often, in per cent, each metric prefers the caption of a pair that more people chose: HC of "
    "two by people, HI one of them about another image, HM one by a system, MM both",
    "table5_foil": "How often, in per cent, each metric prefers a true caption to the same with a wrong noun, with one "
    "reference and with four",
}


class AgreementSheet(Sheet):
    """A sheet that explains missing numbers by notes of CORRELATIONS, keyed by (set of judgements, metric label)."""

    def __init__(self, run: PaperRun, provenance: Provenance, reasons: Mapping[tuple[str, str], str]):
        super().__init__(run, provenance, of_roles=False)
        self.reasons = reasons

    def why_missing(self, place: Mapping[str, Value]) -> str:
        """Return the note on the metric, or that the metric is not in the run."""
        subject, name = str(place["subject"]), str(place["corpus"])
        reason = self.reasons.get((name, subject))
        return f"{subject}: {reason}." if reason else f"{subject} is not in this run."

    def notes_of_values(self) -> list[str]:
        """Return the notes on metrics that have a number."""
        notes = [
            f"{subject}: {reason}."
            for (name, subject), reason in self.reasons.items()
            if self.run.found("subject", EXPERIMENT, subject=subject, corpus=name)
        ]
        return list(dict.fromkeys(notes))


def _table(name: str, inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    if labels := [label for label in JUDGED_TABLES[name] if label in params["labels"]]:
        correlations = read_by(params["labels"], inputs["correlations"], CORRELATIONS)
        differences = read_by(params["labels"], inputs["differences"], DIFFERENCES)
        measured = {label: (correlations[label], differences[label]) for label in labels}
        yield agreement_table(name, measured, inputs["published"], params, provenance)


TABLES = tuple(partial(_table, name) for name in JUDGED_TABLES)


def agreement_table(
    name: str, measured: Mapping[str, tuple[Rows, Rows]], published: str, params: Row, provenance: Provenance
) -> Table:
    """Return the table of this name, with a block for each label.

    `measured` maps a label to its rows of CORRELATIONS and of DIFFERENCES.
    """
    block, number = params["config"], name.removeprefix("table")[0]
    sets, encoder, simulated = (
        pooled_sets(block["judgements"]),
        block["encoder"],
        bool({*measured} & {*params["simulated"]}),
    )
    run = PaperRun(
        [row for label, (rows, _) in measured.items() for row in value_rows(rows, label, sets[label], encoder)],
        [row for label, (_, rows) in measured.items() for row in difference_rows(rows, label, sets[label], encoder)],
        read_published(published),
        block["comparable"] and not simulated,
        {label: sets[label] for label in measured},
    )
    of_paper = {
        label: [row for row in rows if row["coefficient"] == COEFFICIENTS[label]]
        for label, (rows, _) in measured.items()
    }
    reasons = {
        (sets[label], labelled(row["metric"], row["scorer"], encoder)): row["note"]
        for label, rows in of_paper.items()
        for row in rows
        if row["note"]
    }
    sheet = AgreementSheet(run, provenance, reasons)
    sheet.notes += [SIMULATED_NOTE] if simulated else []
    for label, rows in of_paper.items():
        count, what = max((row["n"] for row in rows), default=0), "judgements" if label in RATED else "pairs"
        sheet.notes.append(f"{label}: {count} {what}, each an observation of its own.")
    sheet.notes.append(OVER_IMAGES)
    sheet.notes += sheet.notes_of_values()
    printed = [] if simulated else run.published.rows(number)
    sheet.notes += _notes_of_printed(run, number) if printed else []
    numbers = _numbers(run, number, [row for rows in of_paper.values() for row in rows])
    metrics = {labelled(row["metric"], row["scorer"], encoder) for rows in of_paper.values() for row in rows}
    blocks = [
        Block(
            rows_of(sheet, number, label, sets[label], _lines(label, metrics, printed), numbers), sheet.heading(label)
        )
        for label in measured
    ]
    title = f"CLIPScore, table {number}: how metrics agree with people on {', '.join(measured)}"
    if simulated:
        title = f"Simulated judgements in place of table {number} of CLIPScore: how metrics agree with them"
    description = f"{PRINTED[name]}, with its 95 % interval over images."
    if simulated:
        coefficient = COEFFICIENTS[next(iter(measured))]
        description = (
            f"Kendall's {coefficient}, times 100, of each metric of a caption with simulated ratings, with its 95 % "
            "interval over images."
        )
    return sheet.table(f"clipscore_{name}", title, description, columns_of(["metric"], numbers), blocks)


def _numbers(run: PaperRun, table: str, rows: Rows) -> list[Number]:
    """Return the columns of numbers: each category of pairs, all judgements, and the difference from AGAINST.

    Published numbers stand beside ours if `published` has any numbers of the table.
    """
    categories = [*sorted({row["category"] for row in rows if row["category"]}), None]
    names = {category: category or rows[0]["coefficient"] for category in categories} if rows else {}
    known = run.published.rows(table)
    numbers = [Number({"source": category}, name, printed=name if known else None) for category, name in names.items()]
    return [*numbers, Number({}, "difference", f"from {AGAINST}", against=AGAINST)]


def _notes_of_printed(run: PaperRun, table: str) -> list[str]:
    """Return a note on each published number of a table that the paper did not measure itself: where it is printed."""
    labels: dict[str, dict[str, None]] = {}
    for (of_table, label, *_), number in run.published.values.items():
        if of_table == table and number.note:
            labels.setdefault(number.note, {})[label] = None
    return [f"{', '.join(of_note)}: the number beside this run's is of {note}." for note, of_note in labels.items()]


def _lines(label: str, metrics: Iterable[str], printed: Sequence[str]) -> list[Line]:
    """Return a row for each metric: the paper's metrics first, then further metrics with a printed number."""
    place = {"measure": COEFFICIENTS[label], "experiment": EXPERIMENT}
    of_paper = [*dict.fromkeys([*METRICS.values(), *printed])]
    return [
        Line([metric], {"subject": metric, **place}, metric) for metric in in_order({*metrics, *of_paper}, of_paper)
    ]
