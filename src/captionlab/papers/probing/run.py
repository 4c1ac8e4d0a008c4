"""What a run measured for the probing paper."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from captionlab.reporting.published import Published
from captionlab.reporting.runs import Row, Run


class ProbingRun(Run):
    """A run, and which of it stands for which of the paper.

    `block` is `papers.probing` of the config; `rewards` gives for each role the labels of the scorers that rewarded it,
    `objectives` what it was trained by.
    """

    def __init__(
        self,
        values: Iterable[Row],
        differences: Iterable[Row],
        published: Published,
        block: Mapping[str, Any],
        rewards: Mapping[str, Sequence[str]] | None = None,
        objectives: Mapping[str, Mapping[str, Any]] | None = None,
    ):
        super().__init__(values, differences, published, block["comparable"], block["corpora"])
        self.rewards, self.objectives = rewards or {}, objectives or {}
        models = published.rows("2")
        self.roles = sorted(block["captioners"], key=lambda role: (_rank(models, role), role))
        self.scorers = sorted(block["scorers"], key=lambda label: (_rank(models, label), label))

    def levels(self, experiment: str, **where: Any) -> list[float]:
        """Levels of an experiment, from the smallest."""
        return sorted({*self.found("level", experiment, **where)} - {None})

    def sources(self) -> list[str]:
        """Where templates come from, the published ones first."""
        return sorted(self.found("source", "template"), reverse=True)


def _rank(models: Sequence[str], label: str) -> int:
    return models.index(label) if label in models else len(models)
