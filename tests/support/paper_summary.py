"""The summary of a made-up paper, in the form of captionlab.papers.*.summary: numbers from captions of roles."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.evaluation.rows import row
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import read_table

Rows = list[dict[str, Any]]


def summarise(inputs: Mapping[str, Sequence[str]], params: Mapping[str, Any]) -> tuple[Rows, Rows, list[str]]:
    """Return values and differences of two roles; intervals are made up."""
    values, differences, means = [], [], list[float]()
    for role, path in zip(params["roles"], inputs["captions"], strict=True):
        texts = [one["caption"] for one in read_table(path, GENERATED).to_pylist() if one["corpus"] == "world"]
        means.append(sum(len(text.split()) for text in texts) / len(texts))
        place = "world", "generated", role
        values.append(row(*place, "words of captions", (means[-1], means[-1] - 0.5, means[-1] + 0.25), len(texts)))
        values.append(row(*place, "pattern", (77.5, 75.4, 79.5), len(texts)))
    apart, n = means[1] - means[0], values[0]["n"]
    place = "world", "generated", params["roles"][1], "words of captions"
    differences.append(row(*place, (apart, apart - 1.0, apart + 1.0), n, against=params["roles"][0]))
    differences.append(row(*place, (apart, apart - 1.0, apart + 1.0), n, against="a constant"))
    values.append({**values[0], "experiment": "words", "subject": "nouns", "level": 0.5})
    return values, differences, []
