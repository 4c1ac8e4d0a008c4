"""What a run measured for the probing paper."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from captionlab.reporting.links import captions_link
from captionlab.reporting.published import Published
from captionlab.reporting.reading import read_measured
from captionlab.reporting.reproduction import in_order
from captionlab.reporting.runs import Place, Row, Run


class ProbingRun(Run):
    """A run, and which of it stands for which of the paper.

    `block` is `papers.probing` of the config; `rewards` gives for each role the labels of the scorers that rewarded it,
    `objectives` what it was trained by. `spoken` has the `evaluation`, the first captioner of each role (`first`), and
    the `scorers` by the paper's labels; without it no captions are linked.
    """

    def __init__(
        self,
        values: Iterable[Row],
        differences: Iterable[Row],
        published: Published,
        block: Row,
        rewards: Mapping[str, Sequence[str]] | None = None,
        objectives: Mapping[str, Row] | None = None,
        spoken: Row | None = None,
    ):
        super().__init__(values, differences, published, block["comparable"], block["corpora"])
        self.spoken = spoken or {"first": {}}
        self.rewards, self.objectives = rewards or {}, objectives or {}
        self.roles, self.scorers = (in_order(block[name], published.rows("2")) for name in ("captioners", "scorers"))

    def link(self, place: Place, against: str | None = None) -> str:
        """Where the captions of the first training of a role are shown, of a difference beside the other role's."""
        captioner, other = (self.spoken["first"].get(role) for role in (place.subject, against))
        if place.experiment != "generated" or captioner is None or (against is not None and other is None):
            return ""
        by = self.spoken["scorers"].get(place.scorer, place.scorer)
        return captions_link(place.corpus, captioner, self.spoken["evaluation"], place.measure, by, against=other)

    def levels(self, experiment: str, **where: Any) -> list[float]:
        """Levels of an experiment, from the smallest."""
        return sorted({*self.found("level", experiment, **where)} - {None})

    def sources(self) -> list[str]:
        """Where templates come from, the published ones first."""
        return sorted(self.found("source", "template"), reverse=True)


def read_run(inputs: Row, params: Row) -> ProbingRun:
    """The run, from the files and parameters of a job of the paper."""
    about = params.get("rewards"), params.get("objectives"), params.get("spoken")
    return ProbingRun(*read_measured(inputs), params["config"], *about)
