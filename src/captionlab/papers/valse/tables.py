"""Tables of models on foils: the pieces of VALSE, the kinds of SugarCrepe, and the scores of Winoground."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from captionlab.config.papers import pooled_sets
from captionlab.judgements.foil_measures import OF_PAIRS, OF_TIED
from captionlab.judgements.foils import NO_PROBABILITY
from captionlab.judgements.readers.sugarcrepe.reader import PIECES as KINDS
from captionlab.judgements.readers.valse.reader import PIECES
from captionlab.judgements.schemas import FOIL_MEASURES
from captionlab.papers.valse.config import TABLES_OF
from captionlab.papers.valse.evidence import AVERAGE
from captionlab.papers.valse.values import LANGUAGE_MODEL, MODELS, labelled, value_rows
from captionlab.reporting.claims.reading import Provenance, Rows, read_by
from captionlab.reporting.runs.published import read_published
from captionlab.reporting.runs.reproduction import in_order
from captionlab.reporting.runs.values import PaperRun, Row
from captionlab.reporting.tables.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.render import Block, Table, Value
from captionlab.reporting.tables.sheets import Sheet

# What each measure says, in the order of the blocks of a table.
MEANINGS = {
    "acc_r": "how often the caption scores higher than its foil",
    "acc": "how often a single text is judged rightly: the mean of p_c and p_f",
    "p_c": "how often the probability of a match is above 1/2 for captions",
    "p_f": "how often the probability of a match is not above 1/2 for foils",
    "AUROC": "how often a caption of any pair scores higher than a foil of any pair",
}
TITLES = {
    "VALSE": "VALSE, table 2: how models tell captions from foils, by piece",
    "SugarCrepe": "SugarCrepe: how models tell captions from hard negatives, by kind",
    "Winoground": "Winoground: how models match two images and two captions with the same words",
}
DESCRIPTIONS = {
    "VALSE": "Measures of each model on pairs of a caption and a foil, in per cent, with 95 % intervals over images. A "
    "piece is a linguistic phenomenon; the average has the same weight for each piece.",
    "SugarCrepe": "Measures of each model on pairs of a caption and a hard negative, in per cent, with 95 % intervals "
    "over images; the average has the same weight for each kind.",
    "Winoground": "How often, in per cent, each of two images prefers its caption (text score), each of two captions "
    "prefers its image (image score), and both (group score), with 95 % intervals over pairs of images.",
}
MADE_UP = (
    "Foils of the toy world: they follow from what is known of rendered images, and no annotator validated them. No "
    "caption of the toy world has the word no, which foils of existence turn on, so no model of it learned the word."
)
NOT_A_PROBABILITY = f"acc, p_c and p_f need a probability of a match; of some rows {NO_PROBABILITY}."
UNSEEN = (
    f"{LANGUAGE_MODEL}: the mean log-probability of the words of a text by the language model of the config, which "
    "sees no image; the paper has GPT-1 and GPT-2 in its place."
)


class FoilSheet(Sheet):
    """A sheet that says that a model is not in the run."""

    def why_missing(self, place: Mapping[str, Value]) -> str:
        """Return that the model is not in the run; empty if the run has another measure of it."""
        corpus, subject = str(place["corpus"]), str(place["subject"])
        known = self.run.found("measure", MODELS, corpus=corpus, subject=subject)
        return "" if known else f"{subject} is not in this run."


def _table(label: str, inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    if label in params["labels"]:
        measures = read_by(params["labels"], inputs["measures"], FOIL_MEASURES)[label]
        yield foils_table(label, measures, inputs["published"], params, provenance)


TABLES = tuple(partial(_table, label) for label in TABLES_OF)


def foils_table(label: str, measures: Rows, published: str, params: Row, provenance: Provenance) -> Table:
    """Return the table of a benchmark from its rows of FOIL_MEASURES."""
    block, made_up, shown = params["config"], label in params["made_up"], OF_TIED if label == "Winoground" else OF_PAIRS
    measures = [row for row in measures if row["measure"] in shown]
    name, scorers = pooled_sets(block["judgements"])[label], block["scorers"]
    values = value_rows(measures, name, scorers)
    run = PaperRun(values, [], read_published(published), block["comparable"] and not made_up, {label: name})
    sheet = FoilSheet(run, provenance, of_roles=False)
    number = "2" if label == "VALSE" else label
    models = [*dict.fromkeys(labelled(row["metric"], row["scorer"], scorers) for row in measures)]
    if label == "Winoground":
        numbers, blocks = _of_images(sheet, label, name, models)
    else:
        numbers, blocks = _of_pairs(sheet, number, label, name, models)
    sheet.notes += _notes(measures, values, made_up)
    title = f"Foils of the toy world in place of {TITLES[label]}" if made_up else TITLES[label]
    return sheet.table(f"valse_{TABLES_OF[label]}", title, DESCRIPTIONS[label], columns_of(["model"], numbers), blocks)


def _of_pairs(
    sheet: Sheet, number: str, label: str, name: str, models: Sequence[str]
) -> tuple[list[Number], list[Block]]:
    """Return the columns, one for each piece and one for the average, and a block for each measure of pairs."""
    order = [*(PIECES if label == "VALSE" else KINDS).values()]
    pieces = in_order({piece for piece in sheet.run.found("source", MODELS) if piece}, order)
    numbers = [
        Number({"source": piece}, piece or AVERAGE, printed=piece or AVERAGE)
        for piece in [*pieces, *([None] if len(pieces) > 1 else [])]
    ]
    known = [measure for measure in OF_PAIRS if measure in sheet.run.found("measure", MODELS)]
    blocks = []
    for measure in known:
        printed = [row for table, row, column, _ in sheet.run.published.values if (table, column) == (number, measure)]
        shown = in_order({*models, *printed}, sheet.run.published.rows(number))
        lines = [Line([model], {"subject": model, **_place(measure)}, model) for model in shown]
        rows = rows_of(sheet, number, measure, name, lines, numbers)
        blocks.append(Block(rows, f"{measure}: {MEANINGS[measure]}"))
    return numbers, blocks


def _of_images(sheet: Sheet, label: str, name: str, models: Sequence[str]) -> tuple[list[Number], list[Block]]:
    """Return the columns, one for each score of two images, and a block for all pairs and for each category."""
    numbers = [Number({"measure": measure}, measure, images=measure == OF_TIED[-1]) for measure in OF_TIED]
    categories = sorted(category for category in sheet.run.found("source", MODELS) if category)
    blocks = []
    for category in [None, *categories]:
        lines = [Line([model], {"subject": model, **_place(OF_TIED[0]), "source": category}, model) for model in models]
        rows = rows_of(sheet, None, label, name, lines, numbers)
        blocks.append(Block(rows, sheet.heading(label) if category is None else f"swapped: {category}"))
    return numbers, blocks


def _place(measure: str) -> dict[str, str]:
    return {"measure": measure, "experiment": MODELS}


def _notes(measures: Iterable[Row], values: Rows, made_up: bool) -> list[str]:
    """Return the notes: pairs by category, foils that are made up, missing probabilities, and missing scores."""
    counts = {row["category"]: row["n"] for row in measures if row["measure"] == OF_PAIRS[0] and row["category"]}
    notes = [f"Pairs: {', '.join(f'{piece} {number}' for piece, number in counts.items())}."] if counts else []
    notes += [MADE_UP] if made_up else []
    notes += [UNSEEN] if any(row["subject"] == LANGUAGE_MODEL for row in values) else []
    texts = dict.fromkeys(row["note"] for row in measures if row["note"])
    notes += [NOT_A_PROBABILITY] if NO_PROBABILITY in texts else []
    notes += [f"{text}." for text in texts if text != NO_PROBABILITY]
    return [*notes, OVER_IMAGES]
