"""The shares of captions that follow the published patterns and the patterns mined from the captions."""

import csv
import os
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any

from captionlab.language.mining import mine
from captionlab.language.patterns import Follows, Tagged, compiled, with_prefix


def read_patterns(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file of published patterns."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def pattern_rows(corpus: str, captions: Sequence[Tagged], published: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Return rows of PATTERNS for the captions of a captioner on a corpus; `published` has the paper's patterns."""
    found = [*_published(published), *_mined(captions)]
    return [{"corpus": corpus, **row, **_measured(captions, row, earlier)} for row, earlier in found]


def _published(published: list[dict[str, str]]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the paper's patterns with their prefixes inserted, and for a prefix the earlier prefixes of its model."""
    for model in dict.fromkeys(row["model"] for row in published):
        texts = {
            role: [row["pattern"] for row in published if (row["model"], row["role"]) == (model, role)]
            for role in ("prefix", "sentence")
        }
        for role, patterns in texts.items():
            for rank, pattern in enumerate(patterns, 1):
                text = with_prefix(pattern, texts["prefix"])
                row = {"source": "published", "model": model, "role": role, "rank": rank, "pattern": text}
                yield row, patterns[: rank - 1] if role == "prefix" else []


def _mined(captions: Sequence[Tagged]) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield the patterns of the captions, most frequent first: prefixes, then sentences.

    The list of earlier prefixes is always empty.
    """
    mined = mine(captions)
    starts = {pattern.prefix: sum(compiled(pattern.prefix).follows(c).start for c in captions) for pattern in mined}
    prefixes = sorted(starts, key=lambda text: (-starts[text], text))
    for role, patterns in (("prefix", prefixes), ("sentence", [pattern.pattern for pattern in mined])):
        for rank, text in enumerate(patterns, 1):
            yield {"source": "mined", "model": None, "role": role, "rank": rank, "pattern": text}, []


def _measured(captions: Sequence[Tagged], row: dict[str, Any], earlier: list[str]) -> dict[str, Any]:
    """Return the shares of captions that follow a pattern, and the first examples.

    Examples match a prefix at their start, or a sentence as a whole. Captions that start with an earlier prefix do not
    count, because each caption has one prefix.
    """
    taken = [any(compiled(other).follows(caption).start for other in earlier) for caption in captions]
    follows = [
        Follows(False, False) if other else compiled(row["pattern"]).follows(caption)
        for caption, other in zip(captions, taken, strict=True)
    ]
    found = [one.start if row["role"] == "prefix" else one.whole for one in follows]
    examples = dict.fromkeys(" ".join(word for word, _ in caption) for caption in compress(captions, found))
    return {
        "start": sum(one.start for one in follows) / len(captions),
        "whole": sum(one.whole for one in follows) / len(captions),
        "n": len(captions),
        "examples": list(examples)[:3],
    }
