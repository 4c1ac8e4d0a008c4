"""Values and differences of a run for the probing paper."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from captionlab.reporting.claims.reading import read_measured
from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.published import Published
from captionlab.reporting.runs.reproduction import in_order
from captionlab.reporting.runs.values import Coordinates, PaperRun, Row


class ProbingRun(PaperRun):
    """A run, with the captioners and scorers that stand for the paper's.

    `block` is `papers.probing` of the config. `rewards` maps a role to the labels of the scorers that rewarded it,
    `objectives` maps a role to its training objective. `spoken` has the `evaluation`, the first captioner of each role
    (`first`), and the `scorers` by the paper's labels; without it, no captions are linked.
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

    def link(self, place: Coordinates, against: str | None = None) -> str:
        """Return the address of the captions of a role's first training, for a difference beside the other role's.

        The address is empty if the captions are not known.
        """
        captioner, other = (self.spoken["first"].get(role) for role in (place.subject, against))
        if place.experiment != "generated" or captioner is None or (against is not None and other is None):
            return ""
        by = self.spoken["scorers"].get(place.scorer, place.scorer)
        return captions_link(place.corpus, captioner, self.spoken["evaluation"], place.measure, by, against=other)

    def levels(self, experiment: str, **where: Any) -> list[float]:
        """Return the levels of an experiment in ascending order."""
        return sorted({*self.found("level", experiment, **where)} - {None})

    def sources(self) -> list[str]:
        """Return the sources of templates, published ones first."""
        return sorted(self.found("source", "template"), reverse=True)


def read_run(inputs: Row, params: Row) -> ProbingRun:
    """Return the run, from the files and parameters of a job of the paper."""
    about = params.get("rewards"), params.get("objectives"), params.get("spoken")
    return ProbingRun(*read_measured(inputs), params["config"], *about)
