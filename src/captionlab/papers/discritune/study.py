"""Table 6 of Dessì et al. 2023 from human answers, or under another name from answers of simulated participants."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

from captionlab.evaluation.rows import row as difference_row
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.values import Coordinates, Measured, PaperRun
from captionlab.reporting.tables.cells import place_name
from captionlab.reporting.tables.render import MISSING, PAPER, Block, Cell, Column, Table, interval_cell, p_text
from captionlab.reporting.tables.sheets import Sheet, table_of
from captionlab.reporting.tables.verdicts import legend
from captionlab.study.analysis import ALL_TYPES, MEASURES
from captionlab.study.stimuli import IMAGES_OF_SCREEN

Row = Mapping[str, Any]
# The paper asked people about images of Conceptual Captions.
TABLE, CORPUS, METRIC, EXPERIMENT = "6", "ConCap", "accuracy", "study"
# A bootstrap over fewer participants gives intervals that are clearly too narrow.
FEW_PARTICIPANTS = 10
# Values that a share of right answers is compared with, in per cent.
BOUNDS = {"chance": 100 / IMAGES_OF_SCREEN, "half of the answers": 50.0}
SIMULATED_NOTE = (
    "Simulated participants: a retriever drew the images. No person took part; the numbers say nothing about people."
)
RECORD_COLUMNS = (
    "participants", "quantity", "caption_type", "against", "value", "ci_low", "ci_high", "p_value", "n",
    "published", "verdict", "smallest_difference", "config", "seed", "commit",
)  # fmt: skip


def study_table(
    participants: str,
    results: Mapping[str, Sequence[Row]],
    types: Sequence[str],
    corpus: str,
    paper: Reproduction,
    provenance: Mapping[str, Any],
) -> Table:
    """Return the table of a study; `participants` is people or simulated.

    `results` has the rows of ACCURACY, PAIRWISE, AGREEMENT and PARTICIPANTS under accuracy, pairwise, agreement and
    participants. `types` are the caption types in the order of the config. `corpus` is the corpus of the images.
    """
    people = participants == "people"
    comparable = paper.comparable and people and paper.corpora.get(CORPUS) == corpus
    sheet = Sheet(PaperRun((), (), paper.published, comparable, {}), provenance)
    accuracy = {row["caption_type"]: row for row in results["accuracy"]}
    found = {name: _accuracy(sheet, row, paper, people) for name, row in accuracy.items()}
    answers = {name: _answers(sheet, row) for name, row in accuracy.items()}
    agreement = {(row["caption_type"], row["measure"]): row for row in results["agreement"]}
    pairs = _both_ways(results["pairwise"])
    columns = [Column("captions", numeric=False), *map(Column, ("accuracy", PAPER, "answers"))]
    columns += [Column(f"minus {paper.label(other)}", group="difference") for other in types]
    columns += [Column(heading, group="agreement") for heading in ("pairs, %", "kappa")]
    rows = []
    for name in types:
        if name not in accuracy:
            unanswered = Cell(MISSING, note="Nobody who counts was asked about these captions.")
            rows.append([Cell(paper.label(name)), unanswered, *[Cell(MISSING)] * (len(types) + 4)])
            continue
        places = [_place(name, paper, other) if people else {} for other in types]
        differences = [_difference(pairs.get((name, other)), place) for other, place in zip(types, places, strict=True)]
        agreements = [_agreement(agreement.get((name, measure))) for measure in MEASURES]
        rows.append([Cell(paper.label(name)), *found[name], answers[name], *differences, *agreements])
    others = [{"quantity": "difference", **row, "value": row["difference"]} for row in results["pairwise"]]
    others += [{"quantity": f"agreement, {r['measure']}", **r, "n": r["screens"]} for r in results["agreement"]]
    empty = dict.fromkeys(RECORD_COLUMNS[:-3])  # columns that table_of does not fill
    who, title = "people", "DiscriTune, table 6: accuracy of people who choose an image"
    if not people:
        who = "simulated participants"
        title = "Simulated participants in place of table 6 of DiscriTune: a retriever chooses images"
    return table_of(
        f"discritune_table6_{participants}",
        title,
        f"How often {who} find the image that a caption describes among ten that look alike, by type of captions (%), "
        "with 95 % intervals over participants and sets of images; differences in percentage points.",
        columns,
        [Block(rows)],
        [{**empty, **record, "participants": participants} for record in (*sheet.records, *others)],
        RECORD_COLUMNS,
        _notes(who, results, sheet),
        provenance,
    )


def _place(caption_type: str, paper: Reproduction, against: str | None = None) -> dict[str, Any]:
    """Return the place of the accuracy of people on a type of captions, or of its difference from another type."""
    place = Coordinates(paper.label(caption_type), CORPUS, METRIC, experiment=EXPERIMENT)
    return {**asdict(place), "against": against and paper.label(against)}


def _accuracy(sheet: Sheet, row: Row, paper: Reproduction, people: bool) -> list[Cell]:
    """Return the cells of how often answers to a type of captions are right, and of the published number.

    The published number is shown whatever the images of this study. Only human answers have a place, since no claim is
    judged by simulated ones.
    """
    printed = (paper.published.find(TABLE, label, CORPUS, METRIC) for label in paper.labels(row["caption_type"]))
    theirs = next(filter(None, printed), None)
    ours = Measured(row["value"], row["ci_low"], row["ci_high"], 1, row["answers"])
    place = _place(row["caption_type"], paper) if people else {}
    return sheet.pair({**place, "quantity": "accuracy", "caption_type": row["caption_type"]}, ours, theirs)


def _answers(sheet: Sheet, row: Row) -> Cell:
    """Return the cell of the numbers of answers to a type of captions and of image sets, beside the paper's."""
    number, theirs = row["stimuli"], sheet.run.published.find("text", "sets", CORPUS, "number")
    place = {"quantity": "sets", "caption_type": row["caption_type"]}
    ours, paper = sheet.pair(place, Measured(number, number, number, 1, number), theirs, 0, interval=False)
    beside = f" (paper {paper.text})" if theirs else ""
    return Cell(str(row["answers"]), f"by {row['participants']} on {ours.text} sets{beside}")


def _difference(found: tuple[float, float, float, float] | None, place: Row) -> Cell:
    """Return the cell of the difference between two types, with its place; an empty cell if there is none."""
    if found is None:
        return Cell("")
    cell = interval_cell(found[:3], "+.1f")
    return replace(cell, detail=f"{cell.detail}, {p_text(found[3])}", place=place_name(place))


def _agreement(row: Row | None) -> Cell:
    if row is None or row["value"] is None:
        return Cell(MISSING, note="No screen of this type was answered twice.")
    factor, form = (100, ".1f") if row["measure"] == "pairs" else (1, ".2f")
    return interval_cell([factor * row[name] for name in ("value", "ci_low", "ci_high")], form)


def _notes(who: str, results: Mapping[str, Sequence[Row]], sheet: Sheet) -> list[str]:
    everybody = {row["participant"]: row["excluded"] for row in results["participants"]}
    excluded = sum(everybody.values())
    notes = [
        *([] if who == "people" else [SIMULATED_NOTE]),
        *filter(None, [legend(record["verdict"] for record in sheet.records)]),
        f"{len(everybody)} {who} took part; {excluded} of them missed more than one control, and their answers are "
        "left out. Controls are left out, too. Chance is 10 %.",
        "Differences: two-sided bootstrap over participants and sets; neither intervals nor p are corrected for the "
        "number of comparisons.",
    ]
    for row in results["agreement"]:
        if (row["caption_type"], row["measure"]) == (ALL_TYPES, "kappa") and row["value"] is not None:
            notes.append(f"Agreement over all types: kappa {row['value']:.2f} on {row['screens']} screens.")
    if len(everybody) - excluded < FEW_PARTICIPANTS:
        notes.append(f"Only {len(everybody) - excluded} {who} count: the intervals are too narrow.")
    if not sheet.run.comparable:
        notes.append("The published column is context: participants, images or captions are not the paper's.")
    return notes


def study_differences(
    accuracy: Sequence[Row], pairwise: Sequence[Row], captioners: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the differences between types of captions as rows of ROLE_DIFFERENCES, in both directions.

    Differences of each type from each of BOUNDS follow. `accuracy` has rows of ACCURACY, `pairwise` rows of PAIRWISE.
    `captioners` maps the paper's label to the name in the config.
    """
    labels = {name: label for label, name in sorted(captioners.items(), reverse=True)}  # first label of each
    sets = {row["caption_type"]: row["stimuli"] for row in accuracy}
    found = {pair: ends[:3] for pair, ends in _both_ways(pairwise).items()}
    for row, (bound, share) in product(accuracy, BOUNDS.items()):
        found[row["caption_type"], bound] = (row["value"] - share, row["ci_low"] - share, row["ci_high"] - share)
    rows = []
    for (name, other), ends in found.items():
        n, against = min(sets[name], sets.get(other, sets[name])), labels.get(other, other)
        rows.append(difference_row(CORPUS, EXPERIMENT, labels.get(name, name), METRIC, ends, n, against=against))
    return rows


def _both_ways(pairwise: Sequence[Row]) -> dict[tuple[str, str], tuple[float, float, float, float]]:
    """Return, for each pair of types in both directions, the difference, the ends of its interval and its p-value."""
    found = {}
    for row in pairwise:
        for sign, pair in ((1, (row["caption_type"], row["against"])), (-1, (row["against"], row["caption_type"]))):
            low, high = sorted((sign * row["ci_low"], sign * row["ci_high"]))
            found[pair] = sign * row["difference"], low, high, row["p_value"]
    return found
