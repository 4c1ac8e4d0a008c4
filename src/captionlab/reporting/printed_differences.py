"""Differences between numbers that a paper prints, for rows of ROLE_DIFFERENCES with the paper's labels."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from captionlab.evaluation.scenes import FOREST, NETWORK, PROBING, PROBING_ABLATED
from captionlab.reporting.discritune import TEXT_HEADINGS
from captionlab.reporting.probing.scores import METRICS, STATISTICS
from captionlab.reporting.published import Published
from captionlab.roles import FINETUNED, PRETRAINED

Row = Mapping[str, Any]
# Row, column and metric of a table, without the table.
Place = tuple[str, str, str]
PROBING_HEADINGS = {
    **{measure: heading for heading, measure in METRICS.items()},
    **{measure: heading for heading, (measure, _) in STATISTICS.items()},
}
# Rows of Tables 6 and 7 of the scenes paper by role, and what marks ablated inputs there.
STATES = {PRETRAINED: "PRE", FINETUNED: "FT"}
MARKS = {PROBING: "", PROBING_ABLATED: " (A)"}


def printed_difference(published: Published | None, row: Row, retriever: str | None = None) -> float | None:
    """The first of the two numbers less the second, from one table of the paper; None where it does not print both.

    Without published numbers there are none.     `retriever` stands for the paper's: by others it has no numbers.
    """
    if published is None:
        return None
    for ours, against in _PLACES[published.paper](row, retriever):
        for table in dict.fromkeys(table for table, *_ in published.values):
            first, second = published.find(table, *ours), published.find(table, *against)
            if first is not None and second is not None:
                return first.value - second.value
    return None


def _of_discritune(row: Row, retriever: str | None) -> Iterator[tuple[Place, Place]]:
    if row["scorer"] in (None, retriever):
        metric = TEXT_HEADINGS.get(row["measure"], str(row["measure"]))
        yield (row["subject"], row["corpus"], metric), (row["against"], row["corpus"], metric)


def _of_probing(row: Row, retriever: str | None) -> Iterator[tuple[Place, Place]]:
    if row["experiment"] == "generated":
        measure = str(row["measure"])
        metric = f"score by {row['scorer']}" if row["scorer"] else PROBING_HEADINGS.get(measure, measure)
        yield (row["subject"], row["corpus"], metric), (row["against"], row["corpus"], metric)
    elif (row["experiment"], row["source"], row["measure"]) == ("template", "published", "score"):  # Table 7
        yield (row["scorer"], row["corpus"], "Recons."), (row["scorer"], row["corpus"], row["against"])


def _of_scenes(row: Row, retriever: str | None) -> Iterator[tuple[Place, Place]]:
    """F1 of the forest before and after finetuning, by its share of test images, and against the network (Table 6)."""
    if row["experiment"] not in MARKS or row["source"] != FOREST:
        return
    mark, test = MARKS[row["experiment"]], round(100 * row["level"])
    split, measure = f"{100 - test}/{test}", row["measure"]
    states = f"{STATES[row['subject']]}{mark}"
    if row["against"] == PRETRAINED:
        yield (states, split, measure), (f"{STATES[PRETRAINED]}{mark}", split, measure)
    elif row["against"] == NETWORK:
        yield (f"RF {states}", split, measure), (f"MLP {states}", split, measure)
    elif row["against"] == "random":
        yield (f"RF {states}", split, measure), ("RB", split, measure)
    elif row["against"].startswith("test share "):
        other = round(100 * float(row["against"].removeprefix("test share ")))
        yield (states, split, measure), (states, f"{100 - other}/{other}", measure)


_PLACES: Mapping[str, Callable[[Row, str | None], Iterator[tuple[Place, Place]]]] = {
    "discritune": _of_discritune,
    "probing": _of_probing,
    "scenes": _of_scenes,
}
