"""Judgements of several sets, held against metrics together: Composite is judged captions of three corpora.

An image is identified by its set and its id, because two corpora may use one id for different images.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from captionlab.judgements.correlation import Key, Row, Rows, Scores


def pooled_rows(sets: Mapping[str, Sequence[Row]]) -> Rows:
    """Return the rows of CANDIDATES, of RATINGS or of PREFERENCES of all sets.

    `sets` maps the name of a set to its rows.
    """
    return [
        {**row, **{key: pooled_image(name, row[key]) for key in ("image_id", "tie") if row.get(key) is not None}}
        for name, rows in sets.items()
        for row in rows
    ]


def pooled_image(name: str, image_id: str) -> str:
    """Return the id of an image of a set among the images of all sets."""
    return f"{name}/{image_id}"


def scores_of_set(
    metric: str,
    scorer: str | None,
    keys: Iterable[tuple[str, str, int]],
    values: Iterable[float],
    table: str,
    path: str,
) -> Scores:
    """Return the scores of a metric on the captions of a set, from the file of a table of scores.

    `keys` are the corpus, image and index of each caption; the corpus of judged captions has the name of their set.
    """
    places = [(pooled_image(corpus, image), index) for corpus, image, index in keys]
    # Each command has a table of its own; the file of the table nlg has the name of the set.
    named = table if table == "nlg" else Path(path).stem
    return Scores(metric, scorer, dict(zip(places, values, strict=True)), named)


def pooled_scores(parts: Iterable[Scores]) -> list[Scores]:
    """Return the scores of each metric on the captions of all sets. `parts` are the scores of metrics on single sets.

    Two parts belong to one metric if their metric, scorer and table are equal.
    """
    metrics: dict[tuple[str, str | None, str], dict[Key, float]] = {}
    for part in parts:
        metrics.setdefault((part.metric, part.scorer, part.table), {}).update(part.values)
    return [Scores(metric, scorer, values, table) for (metric, scorer, table), values in metrics.items()]
