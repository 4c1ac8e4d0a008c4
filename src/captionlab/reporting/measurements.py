"""What a run measured, by captioner, corpus, metric and retriever: look-ups in the summary and the comparisons."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, TypeVar

Row = TypeVar("Row")


class AmbiguousError(ValueError):
    """A table of a paper asks for one value and the run has several."""


@dataclass(frozen=True)
class Measurement:
    """A row of the summary: a value with its 95 % interval, x 100 as the field prints it."""

    captioner: str
    corpus: str
    split: str
    evaluation: str
    decoding: str
    retriever: str | None
    candidates: str | None
    metric: str
    value: float
    ci_low: float
    ci_high: float
    n: int


@dataclass(frozen=True)
class Difference:
    """How far one captioner is above another, with the 95 % interval; no `p_value` where no paired test was made."""

    value: float
    ci_low: float
    ci_high: float
    p_value: float | None
    n: int

    def __neg__(self) -> Self:
        return type(self)(-self.value, -self.ci_high, -self.ci_low, self.p_value, self.n)


class Measurements:
    """The summary and the comparisons of a run, of all its evaluations or of those that are named."""

    def __init__(
        self,
        summary: Iterable[Mapping[str, Any]],
        comparisons: Iterable[Mapping[str, Any]] = (),
        evaluations: Sequence[str] | None = None,
    ):
        chosen = [_measurement(row) for row in summary if _within(row, evaluations)]
        self.metrics = {row.metric for row in chosen}
        self.retrievers = sorted({row.retriever for row in chosen if row.retriever and row.candidates})
        self._judges = {(row.metric, row.retriever) for row in chosen}
        self._evaluated = {(row.captioner, row.corpus) for row in chosen}
        self._rows: dict[tuple[str, str, str, str | None], list[Measurement]] = {}
        for row in chosen:
            self._rows.setdefault((row.captioner, row.corpus, row.metric, row.retriever), []).append(row)
        self._differences: dict[tuple[str, str, str, str, str | None], list[Mapping[str, Any]]] = {}
        for pair in comparisons:
            if _within(pair, evaluations):
                key = (pair["captioner"], pair["against"], pair["corpus"], pair["metric"], pair["retriever"])
                self._differences.setdefault(key, []).append(pair)

    def evaluated(self, captioner: str, corpus: str) -> bool:
        """Was the captioner evaluated on the corpus at all?"""
        return (captioner, corpus) in self._evaluated

    def retrievers_of(self, metric: str) -> list[str | None]:
        """Retrievers that gave a metric: [None] for a text metric, nothing when the run does not have it."""
        return sorted((judge for name, judge in self._judges if name == metric), key=str)

    def find(self, captioner: str, corpus: str, metric: str, retriever: str | None = None) -> Measurement | None:
        """The value in one place, None where the run has none.

        Retrieval among a set of candidates is what the papers print; retrieval among all images of the split is taken
        where there is nothing else. Several evaluations are an AmbiguousError.
        """
        rows = _among_candidates(self._rows.get((captioner, corpus, metric, retriever), []), lambda row: row.candidates)
        if len(rows) > 1:
            raise AmbiguousError(
                f"{metric} of {captioner} on {corpus} was measured in several evaluations "
                f"({', '.join(sorted(row.evaluation for row in rows))}); "
                "name the one that the tables show under papers.<paper>.evaluations"
            )
        return rows[0] if rows else None

    def difference(
        self, captioner: str, against: str, corpus: str, metric: str, retriever: str | None = None
    ) -> Difference | None:
        """How far `captioner` is above `against`; None where the run cannot tell.

        The paired comparison where one was made, in either direction. Otherwise from the two values and their
        intervals as if the captioners had seen different images (Zou and Donner 2008, "MOVER"), which is wider.
        """
        if (paired := self._paired(captioner, against, corpus, metric, retriever)) is not None:
            return paired
        if (paired := self._paired(against, captioner, corpus, metric, retriever)) is not None:
            return -paired
        ours = self.find(captioner, corpus, metric, retriever)
        theirs = self.find(against, corpus, metric, retriever)
        if ours is None or theirs is None:
            return None
        value = ours.value - theirs.value
        below = math.hypot(ours.value - ours.ci_low, theirs.ci_high - theirs.value)
        above = math.hypot(ours.ci_high - ours.value, theirs.value - theirs.ci_low)
        return Difference(value, value - below, value + above, None, min(ours.n, theirs.n))

    def _paired(
        self, captioner: str, against: str, corpus: str, metric: str, retriever: str | None
    ) -> Difference | None:
        rows = _among_candidates(
            self._differences.get((captioner, against, corpus, metric, retriever), []),
            lambda row: row["candidates"],
        )
        if len(rows) > 1:
            raise AmbiguousError(
                f"{captioner} and {against} were compared several times by {metric} on {corpus}; "
                "name the evaluation that counts under papers.<paper>.evaluations"
            )
        if not rows:
            return None
        row = rows[0]
        return Difference(row["difference"], row["ci_low"], row["ci_high"], row["p_value"], row["n"])


def _measurement(row: Mapping[str, Any]) -> Measurement:
    return Measurement(**{field.name: row[field.name] for field in fields(Measurement)})


def _within(row: Mapping[str, Any], evaluations: Sequence[str] | None) -> bool:
    return evaluations is None or row["evaluation"] in evaluations


def _among_candidates(rows: list[Row], candidates: Callable[[Row], str | None]) -> list[Row]:
    """The rows of a set of candidates; those of the full split where there are no others."""
    return [row for row in rows if "full" not in (candidates(row) or "")] or rows
