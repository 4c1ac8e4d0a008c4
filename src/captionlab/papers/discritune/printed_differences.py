"""What rows of ROLE_DIFFERENCES with the paper's labels would be if the run had measured what the paper prints."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from captionlab.intervals import SIMILAR
from captionlab.papers.discritune.finetuning import GAIN_ON
from captionlab.papers.discritune.study import BOUNDS
from captionlab.papers.discritune.tables import TEXT_HEADINGS
from captionlab.papers.probing.roles import HALF
from captionlab.papers.probing.scores import METRICS, PATTERN_RATIOS, STATISTICS
from captionlab.papers.scenes.measurements import END, FOREST, INTACT, NETWORK, PROBING, PROBING_ABLATED
from captionlab.papers.scenes.objects import METRICS as SCENES_METRICS
from captionlab.reporting.published import Published
from captionlab.roles import FINETUNED, PRETRAINED

Row = Mapping[str, Any]
# Row, column and metric of a table, without the table.
Place = tuple[str, str, str]
# What a difference is of: a sum of numbers of one table, each with its weight, or a fixed value.
Side = Mapping[Place, float] | float
Sides = tuple[Side, Side]

# How the measure of a nearness begins, which follows from the difference and from what it is held against.
NEARNESS = "nearness of "
# Tables of one test, of other captioners.
TOGETHER = {"discritune": [("1", "4")]}
PROBING_HEADINGS = {
    **{measure: heading for heading, measure in METRICS.items()},
    **{measure: heading for heading, (measure, _) in STATISTICS.items()},
    **PATTERN_RATIOS,
    "first pattern": PATTERN_RATIOS["published pattern"],  # the paper found it in the captions of its own captioner
}
SCENES_HEADINGS = {measure: heading for heading, measure in SCENES_METRICS.items()}
# The row of Table 1 of the scenes paper with which its finetuning ends.
LAST_EPOCH = "10"
# The split whose images captions are counted of in section 6.2, where the paper names none (docs/fidelity.md).
TESTED = "test"
# Rows of Tables 6 and 7 of the scenes paper by role, and what marks ablated inputs there.
STATES = {PRETRAINED: "PRE", FINETUNED: "FT"}
MARKS = {PROBING: "", PROBING_ABLATED: " (A)"}
TEST_SHARE = "test share "


def printed_difference(
    published: Published | None, row: Row, retriever: str | None = None, parents: Mapping[str, str] | None = None
) -> float | None:
    """The difference or nearness, from numbers of one table of the paper; None where it does not print all.

    Tables that are TOGETHER count as one. Without published numbers there is none. `retriever` stands for the paper's:
    by others it has no numbers. `parents` are the paper's labels of captioners before finetuning, by those after it:
    who has none has no gain.
    """
    if published is None:
        return None
    papers: Mapping[str, Callable[[Row], Sides | None]] = {
        "discritune": partial(_of_discritune, retriever=retriever, parents=parents or {}),
        "probing": _of_probing,
        "scenes": _of_scenes,
    }
    sides = papers[published.paper]({**row, "measure": row["measure"].removeprefix(NEARNESS)})
    if sides is None:
        return None
    tables = [(table,) for table in dict.fromkeys(table for table, *_ in published.values)]
    for of_one in [*tables, *TOGETHER.get(published.paper, ())]:
        first, second = (_value(published, of_one, side) for side in sides)
        if first is not None and second is not None:
            apart = first - second
            return SIMILAR * abs(second) - abs(apart) if row["measure"].startswith(NEARNESS) else apart
    return None


def _value(published: Published, tables: tuple[str, ...], side: Side) -> float | None:
    """The fixed value, or the sum of numbers in these tables; None where one of them is not there."""
    if isinstance(side, float):
        return side
    numbers = {place: found.value for place in side for table in tables if (found := published.find(table, *place))}
    return sum(weight * numbers[place] for place, weight in side.items()) if len(numbers) == len(side) else None


def _pair(first: Place, second: Place) -> Sides:
    """One number against another."""
    return {first: 1.0}, {second: 1.0}


def _apart(first: Place, second: Place) -> Side:
    """What the first number is above the second, as one side."""
    return {first: 1.0, second: -1.0}


def _mean(rows: Sequence[str], column: str, metric: str) -> Side:
    """The mean of a column over some rows."""
    return {(row, column, metric): 1 / len(rows) for row in rows}


# ------------------------------------------------------------------------------------------------------- discritune
def _of_discritune(row: Row, retriever: str | None, parents: Mapping[str, str]) -> Sides | None:
    subject, against, corpus = row["subject"], row["against"], row["corpus"]
    if row["scorer"] not in (None, retriever):
        return None
    metric = TEXT_HEADINGS.get(row["measure"], str(row["measure"]))
    if row["experiment"] == "gains":
        if subject not in parents:
            return None
        gains = [
            _apart((subject, text, metric), (parents[subject], text, metric))
            for text in (corpus, against.removeprefix(GAIN_ON))
        ]
        return gains[0], gains[1]
    if against in BOUNDS:
        return {(subject, corpus, metric): 1.0}, BOUNDS[against]
    return _pair((subject, corpus, metric), (against, corpus, metric))


# ---------------------------------------------------------------------------------------------------------- probing
def _of_probing(row: Row) -> Sides | None:
    subject, against, corpus, measure, scorer = (
        row[name] for name in ("subject", "against", "corpus", "measure", "scorer")
    )
    if (row["experiment"], row["source"], measure) == ("template", "published", "score"):  # Table 7
        return _pair((scorer, corpus, "Recons."), (scorer, corpus, against))
    if row["experiment"] != "generated":
        return None
    if measure == "repeated nouns":
        of_all, distinct = PROBING_HEADINGS["nouns"], PROBING_HEADINGS["distinct nouns"]
        repeated = [_apart((role, corpus, of_all), (role, corpus, distinct)) for role in (subject, against)]
        return repeated[0], repeated[1]
    metric = f"score by {scorer}" if scorer else PROBING_HEADINGS.get(measure, measure)
    if against == HALF:
        return {(subject, corpus, metric): 1.0}, 50.0
    return _pair((subject, corpus, metric), (against, corpus, metric))


# ----------------------------------------------------------------------------------------------------------- scenes
def _of_scenes(row: Row) -> Sides | None:
    experiments: Mapping[str, Callable[[Row], Sides | None]] = {
        "scene captions": _of_epochs,
        "overlap": _of_correlation,
        "overlap of scenes": _of_overlaps,
        "ablation": _of_changes,
        PROBING: _of_probes,
        PROBING_ABLATED: _of_probes,
    }
    sides = experiments.get(row["experiment"])
    return sides(row) if sides else None


def _of_epochs(row: Row) -> Sides | None:
    """Metrics after so many epochs against those of the last (Table 1, which has none before the first)."""
    metric = SCENES_HEADINGS.get(row["measure"], str(row["measure"]))
    if row["against"] != END:
        return None
    return _pair((row["subject"], "HL-Scenes", metric), (LAST_EPOCH, "HL-Scenes", metric))


def _of_correlation(row: Row) -> Sides | None:
    """The correlation of both overlaps of the finetuned captioner (Table 2)."""
    return ({("r", "all", "r"): 1.0}, 0.0) if (row["subject"], row["measure"]) == (FINETUNED, "r") else None


def _of_overlaps(row: Row) -> Sides | None:
    """Mean overlap of some scenes against that of others, by depth, of the finetuned captioner (Table 2)."""
    if row["subject"] != FINETUNED:
        return None
    first, second = (
        _mean(row[name].split(", "), f"{row['level']:g}", row["measure"]) for name in ("source", "against")
    )
    return first, second


def _of_changes(row: Row) -> Sides | None:
    """Captions that change without telling objects, in per cent, all numbers of removed objects together (§6.2)."""
    if (row["source"], row["level"], row["measure"]) != (TESTED, None, "changed"):
        return None
    return _pair((row["subject"], "6.2", "captions changed"), (row["against"], "6.2", "captions changed"))


def _of_probes(row: Row) -> Sides | None:
    """F1 of the forest by its share of test images, against what it is held against (Tables 6 and 7)."""
    if row["source"] != FOREST:
        return None
    states, mark, against = STATES[row["subject"]], MARKS[row["experiment"]], row["against"]
    split, measure = _split(row["level"]), row["measure"]
    if against.startswith(TEST_SHARE):
        other = _split(float(against.removeprefix(TEST_SHARE)))
        return _pair((f"{states}{mark}", split, measure), (f"{states}{mark}", other, measure))
    rows = {
        PRETRAINED: (f"{states}{mark}", f"{STATES[PRETRAINED]}{mark}"),
        INTACT: (f"{states}{mark}", states),
        NETWORK: (f"RF {states}{mark}", f"MLP {states}{mark}"),
        "random": (f"RF {states}{mark}", "RB"),
    }.get(against)
    return _pair((rows[0], split, measure), (rows[1], split, measure)) if rows else None


def _split(test_share: float) -> str:
    """How the paper names it: 70/30 for a share of 0.3."""
    test = round(100 * test_share)
    return f"{100 - test}/{test}"
