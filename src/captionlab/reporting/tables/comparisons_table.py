"""Tables of pairwise comparisons: rankings of captioners, and the captions that a model compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from captionlab.comparisons.schemas import (
    AGREEMENT,
    FIRST,
    FIRST_SHARE,
    OWN_FIRST,
    STRENGTH,
    TIE,
    TIES,
    UNANSWERED,
    WIN_RATE,
)
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

RECORD_COLUMNS = (
    "comparison", "model", "corpus", "measure", "captioner", "against", "value", "ci_low", "ci_high", "images", "n",
    *PROVENANCE,
)  # fmt: skip
PAIR_COLUMNS = (
    "corpus", "image_id", "captioner", "against", "order", "caption", "against_caption", "asked", "answer", "reason",
    *PROVENANCE,
)  # fmt: skip
# Measures of the model, with a column each.
OF_MODEL = (AGREEMENT, FIRST_SHARE, TIES, UNANSWERED)
NOTES = (
    "A model preferred; nobody took part. It read every two captions of an image in both orders. Identical captions "
    "are a tie, and it was not asked.",
    "Strength: of Bradley and Terry, natural logarithm, mean 0 over the captioners of a block. A captioner that is "
    "stronger than another by d wins a share of 1 / (1 + exp(-d)). One tie is added to every pair of captioners, so "
    "that a captioner that always wins has a finite strength.",
    "Win rate: of the captioner of the row against the captioner of the column, in per cent of the images; a tie is "
    "half a win, and an image counts by the mean of both orders. Images without an answer in both orders are left out.",
    "Of the requests, in per cent. Orders agree: pairs of captions with the same verdict in both orders. First "
    "preferred: of answers that prefer a caption, those that prefer the first one; 50 without a bias of the order. "
    "Ties: of all answers. No answer: requests that failed, or whose answer was not of the form that was asked for.",
    "n: pairs of captions with answers in both orders; in the row of the model, the requests.",
    "Intervals: 95 %, over images, by bootstrap; of the answers of the model Clopper and Pearson's. If all images of a "
    "pair have the same score, other images may have another one, which gives the interval its width.",
)
# Images that the table of pairs shows.
SHOWN = 100


@dataclass(frozen=True)
class Shown:
    """An image in the table of pairs: its thumbnail as PNG, and its captions by captioner."""

    image: bytes
    captions: Mapping[str, str]


def comparisons_table(
    rankings: Mapping[str, Sequence[Row]], models: Mapping[str, str], provenance: Mapping[str, Any]
) -> Table:
    """Return the table of rankings, with a block for each comparison and corpus.

    `rankings` maps the name of a comparison to its rows of RANKINGS, and `models` to the model that compared. The
    captioners of a block are sorted by their strength. The last row of a block is about the model.
    """
    others = sorted({row["captioner"] for rows in rankings.values() for row in rows if row["captioner"]})
    columns = [Column("captioner", numeric=False), Column("n"), Column(STRENGTH)]
    columns += [Column(name, group="win rate against") for name in others]
    columns += [Column(measure, group="answers of the model") for measure in OF_MODEL]
    blocks, records = [], []
    for name, rows in rankings.items():
        records += [{"comparison": name, "model": models[name], **row} for row in rows]
        for corpus in dict.fromkeys(row["corpus"] for row in rows):
            blocks.append(
                _ranking(name, models[name], corpus, [row for row in rows if row["corpus"] == corpus], others)
            )
    description = (
        "Which captions a model prefers: the strength of each captioner, how often it wins against each other one, and "
        "how the model answers."
    )
    texts = ("comparisons", "Captioners compared in pairs by a model", description)
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, NOTES, provenance)


def _ranking(name: str, model: str, corpus: str, rows: Sequence[Row], others: Sequence[str]) -> Block:
    """Return the block of a comparison on a corpus."""
    found = {(row["measure"], row["captioner"], row["against"]): row for row in rows}
    strengths = [row for row in rows if row["measure"] == STRENGTH]
    lines = []
    for row in sorted(strengths, key=lambda row: float("-inf") if row["value"] is None else row["value"], reverse=True):
        captioner = row["captioner"]
        against = [_win_rate(found, captioner, other) for other in others]
        strength = replace(_cell(row, 1.0, "+.2f"), note=_unbounded(found, captioner))
        head = [Cell(captioner), Cell(str(row["n"])), strength]
        lines.append([*head, *against, *[Cell("")] * len(OF_MODEL)])
    of_model = [_cell(found[measure, None, None], 100.0, ".1f") for measure in OF_MODEL]
    requests = found[UNANSWERED, None, None]["n"]
    lines.append([Cell("all, by the model"), Cell(str(requests)), *[Cell("")] * (1 + len(others)), *of_model])
    images = max(row["images"] for row in rows)
    return Block(lines, f"{name}: {corpus}, {images} images, compared by {model}")


def _unbounded(found: Mapping[tuple[str, str | None, str | None], Row], captioner: str) -> str:
    """Return a note on a captioner that wins or loses all comparisons; an empty text for other captioners."""
    rates = [
        row["value"] if own == captioner else 1.0 - row["value"]
        for (measure, own, other), row in found.items()
        if measure == WIN_RATE and captioner in (own, other) and row["value"] is not None
    ]
    if {*rates} == {1.0}:
        return f"{captioner} wins on all images, so that only the tie that is added bounds its strength from above."
    if {*rates} == {0.0}:
        return f"{captioner} loses on all images, so that only the tie that is added bounds its strength from below."
    return ""


def _win_rate(found: Mapping[tuple[str, str | None, str | None], Row], captioner: str, other: str) -> Cell:
    """Return the cell of a win rate, which is stored for one direction of a pair."""
    if row := found.get((WIN_RATE, captioner, other)):
        return _cell(row, 100.0, ".1f")
    if row := found.get((WIN_RATE, other, captioner)):
        turned = {"value": "value", "ci_low": "ci_high", "ci_high": "ci_low"}
        return _cell({key: None if row[of] is None else 1.0 - row[of] for key, of in turned.items()}, 100.0, ".1f")
    return Cell("" if captioner == other else MISSING)


def _cell(row: Row, factor: float, form: str) -> Cell:
    """Return the cell of a value with its interval, if it has one."""
    if row["value"] is None:
        return Cell(MISSING)
    if row["ci_low"] is None:
        return Cell(f"{factor * row['value']:{form}}", value=factor * row["value"])
    return interval_cell([factor * row[end] for end in ("value", "ci_low", "ci_high")], form)


def pairs_table(
    name: str,
    model: str,
    preferences: Sequence[Row],
    shown: Mapping[tuple[str, str], Shown],
    provenance: Mapping[str, Any],
) -> Table:
    """Return the table of the captions that a model compared, with a block for each image of `shown`.

    `preferences` are rows of PREFERENCES on these images, which `shown` has by corpus and id. `name` is the name of the
    comparison.
    """
    by_image: dict[tuple[str, str], list[Row]] = {}
    for row in preferences:
        by_image.setdefault((row["corpus"], row["image_id"]), []).append(row)
    columns = [
        Column(heading, numeric=False) for heading in ("captioners", "read first", "read second", "preferred", "reason")
    ]
    blocks, records = [], []
    for (corpus, image), rows in by_image.items():
        captions = shown[corpus, image].captions
        blocks.append(Block([_line(row, captions) for row in rows], f"{corpus}, {image}", shown[corpus, image].image))
        records += [
            {**row, "caption": captions[row["captioner"]], "against_caption": captions[row["against"]]} for row in rows
        ]
    description = f"What {model} prefers, and why, on {len(blocks)} images. It read every two captions in both orders."
    notes = [f"{MISSING}: no answer. Identical captions are a tie, and the model was not asked."]
    texts = (f"comparisons_{name}_pairs", f"Captions compared for {name}", description)
    return table_of(*texts, columns, blocks, records, PAIR_COLUMNS, notes, provenance)


def _line(row: Row, captions: Mapping[str, str]) -> list[Cell]:
    """Return the row of two captions in the order that the model read them."""
    pair = [row["captioner"], row["against"]]
    read = pair if row["order"] == OWN_FIRST else pair[::-1]
    preferred = {None: MISSING, TIE: TIE}.get(row["answer"]) or read[row["answer"] != FIRST]
    reason = (row["reason"] or "") if row["asked"] else "identical"
    texts = [Cell(captions[captioner], captioner) for captioner in read]
    return [Cell(" and ".join(pair)), *texts, Cell(preferred), Cell(reason)]
