"""Table of how a training by a reward changed that reward, on training images of the captioners."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from captionlab.evaluation.naming import different, words
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of
from captionlab.statistics.intervals import ANY, Ends, bootstrap_interval, resampled_sums

RECORD_COLUMNS = (
    "captioner", "parent", "corpus", "reward", "value", "ci_low", "ci_high", "n", "before", "after", "commonest",
    "found_before", "found_after", "different_before", "different_after", "words_before", "words_after", *PROVENANCE,
)  # fmt: skip
NOTES = (
    "Greedy captions of the first images that the captioner was trained on, by the captioner and by its parent. "
    "Rewards are those of the training, without factors of the objective; a retriever chooses among as many images as "
    "in the training, neighbours in the order of the corpus. Intervals of paired differences are over images.",
    "Found: captions that find their image among these candidates, in per cent, where a retriever is asked.",
    "One for all: the mean reward if every image got the most frequent caption of the trained captioner. Where that is "
    "no less than the parent's captions earn, the reward itself prefers fewer different captions.",
)


@dataclass(frozen=True)
class Change:
    """Statistics of greedy captions of training images, before and after a training by a reward."""

    before: float
    after: float
    value: float  # mean reward after, minus the mean reward before
    ends: Ends
    n: int
    commonest: float  # mean reward if every image got the most frequent caption of after
    found_before: float | None  # per cent; None without a retriever
    found_after: float | None
    different_before: int
    different_after: int
    words_before: float
    words_after: float

    @property
    def prefers_fewer(self) -> bool:
        """True if one caption for all images earns no less than the captions before the training."""
        return self.commonest >= self.before


def change_of(rows: Iterable[Row], seed: int) -> Change:
    """Return the change made by a training, from a captioner's rows of REWARDS; `seed` is for the bootstrap."""
    of: dict[str, dict[str, Row]] = {"before": {}, "after": {}, "commonest": {}}
    for row in rows:
        of[row["captions"]][row["image_id"]] = row
    images = [*of["before"]]
    earned = {name: np.array([found[image]["reward"] for image in images]) for name, found in of.items()}
    found: dict[str, float | None] = {}
    for name in ("before", "after"):
        hits = [of[name][image]["accuracy"] for image in images]
        found[name] = None if None in hits else 100 * float(np.mean(hits))
    captions = {name: [of[name][image]["caption"] for image in images] for name in ("before", "after")}
    differences = earned["after"] - earned["before"]
    mean = float(differences.mean())
    resampled = resampled_sums(differences[:, None], seed)[:, 0] / len(images)
    return Change(
        before=float(earned["before"].mean()),
        after=float(earned["after"].mean()),
        value=mean,
        ends=bootstrap_interval(mean, resampled, ANY),
        n=len(images),
        commonest=float(earned["commonest"].mean()),
        found_before=found["before"],
        found_after=found["after"],
        different_before=different(captions["before"]),
        different_after=different(captions["after"]),
        words_before=_mean_words(captions["before"]),
        words_after=_mean_words(captions["after"]),
    )


def _mean_words(captions: Sequence[str]) -> float:
    return float(np.mean([len(words(caption)) for caption in captions]))


def rewards_table(
    changes: Mapping[str, Change], trainings: Mapping[str, Mapping[str, str]], provenance: Mapping[str, Any]
) -> Table:
    """Return the table, with a row for each captioner.

    `trainings` maps a captioner to its parent, its corpus, and its reward in words.
    """
    columns = [Column("captioner", numeric=False), Column("reward", numeric=False), Column("n")]
    columns += [Column(heading, group="reward") for heading in ("before", "after", "after less before", "one for all")]
    groups = ("found, %", "different captions", "words")
    columns += [Column(heading, group=group) for group in groups for heading in ("before", "after")]
    rows, records = [], []
    for captioner, change in sorted(changes.items()):
        training, (low, high) = trainings[captioner], change.ends
        found = [MISSING if one is None else f"{one:.1f}" for one in (change.found_before, change.found_after)]
        rows.append(
            [
                Cell(captioner, f"from {training['parent']}, {training['corpus']}"),
                Cell(training["reward"]),
                Cell(str(change.n)),
                Cell(f"{change.before:.3f}"),
                Cell(f"{change.after:.3f}"),
                interval_cell((change.value, low, high), "+.3f"),
                Cell(f"{change.commonest:.3f}"),
                *map(Cell, found),
                Cell(str(change.different_before)),
                Cell(str(change.different_after)),
                Cell(f"{change.words_before:.1f}"),
                Cell(f"{change.words_after:.1f}"),
            ]
        )
        records.append({"captioner": captioner, **training, **asdict(change), "ci_low": low, "ci_high": high})
    texts = ("rewards", "Rewards before and after training", "What a training by a reward did to that reward.")
    return table_of(*texts, columns, [Block(rows)], records, RECORD_COLUMNS, NOTES, provenance)
