"""Agreement of metrics with ratings on slices of the rated captions, by length and by source.

A slice has its own coefficients, on the ratings of its captions alone: a metric may agree with people over all captions
because it tells long captions from short ones, or captions by people from captions by systems.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from captionlab.judgements.correlation import Key, Row, Rows, Scores, rating_rows
from captionlab.judgements.schemas import SLICES
from captionlab.statistics.groups import SMALLEST
from captionlab.texts.lengths import LENGTHS, length_ranges

LENGTH, SOURCE = "length", "source"


def slice_rows(metrics: Sequence[Scores], ratings: Sequence[Row], candidates: Sequence[Row], seed: int) -> Rows:
    """Return the rows of SLICES of all metrics.

    `ratings` are rows of RATINGS and `candidates` rows of CANDIDATES. Slices whose captions are of fewer than SMALLEST
    images are left out. A property has no slices if it is the same for all rated captions.
    """
    rows: Rows = []
    for by, values in ((LENGTH, _lengths(candidates)), (SOURCE, _sources(candidates))):
        for name, of_slice in _slices(ratings, values):
            place = {"by": by, "slice": name}
            rows += [{**place, **row} for row in rating_rows(metrics, of_slice, seed)]
    return [{name: row[name] for name in SLICES.columns} for row in rows]


def _lengths(candidates: Sequence[Row]) -> dict[Key, str]:
    """Return the range of lengths of each caption."""
    ranges = np.searchsorted(LENGTHS, [len(row["caption"].split()) for row in candidates])
    names = [one.name for one in length_ranges()]
    return {_key(row): names[place] for row, place in zip(candidates, ranges, strict=True)}


def _sources(candidates: Sequence[Row]) -> dict[Key, str]:
    """Return the source of each caption that has one."""
    return {_key(row): row["source"] for row in candidates if row["source"] is not None}


def _slices(ratings: Sequence[Row], values: Mapping[Key, str]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the name and the ratings of each slice: lengths from the shortest up, sources by name."""
    of_slices: dict[str, list[Row]] = {}
    for row in ratings:
        if (value := values.get(_key(row))) is not None:
            of_slices.setdefault(value, []).append(row)
    if [*map(len, of_slices.values())] == [len(ratings)]:
        return
    order = {one.name: place for place, one in enumerate(length_ranges())}
    for value in sorted(of_slices, key=lambda name: (order.get(name, 0), name)):
        if len({row["image_id"] for row in of_slices[value]}) >= SMALLEST:
            yield value, of_slices[value]


def _key(row: Row) -> Key:
    return row["image_id"], row["caption_index"]
