"""What a run measured for the probing paper."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.reporting.published import Published, read_published
from captionlab.reporting.runs import Row, Run
from captionlab.tables import TableSchema, read_table

Rows = list[dict[str, Any]]
Provenance = Mapping[str, Any]
Path = str | os.PathLike[str]


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
        block: Row,
        rewards: Mapping[str, Sequence[str]] | None = None,
        objectives: Mapping[str, Row] | None = None,
    ):
        super().__init__(values, differences, published, block["comparable"], block["corpora"])
        self.rewards, self.objectives = rewards or {}, objectives or {}
        rank = {label: number for number, label in enumerate(published.rows("2"))}
        self.roles, self.scorers = (
            sorted(block[name], key=lambda label: (rank.get(label, len(rank)), label))
            for name in ("captioners", "scorers")
        )

    def levels(self, experiment: str, **where: Any) -> list[float]:
        """Levels of an experiment, from the smallest."""
        return sorted({*self.found("level", experiment, **where)} - {None})

    def sources(self) -> list[str]:
        """Where templates come from, the published ones first."""
        return sorted(self.found("source", "template"), reverse=True)


def read_run(inputs: Row, params: Row) -> ProbingRun:
    """The run, from the files and parameters of a job of the paper."""
    values, differences = read_rows(inputs["values"], ROLE_VALUES), read_rows(inputs["differences"], ROLE_DIFFERENCES)
    about = params["config"], params.get("rewards"), params.get("objectives")
    return ProbingRun(values, differences, read_published(inputs["published"]), *about)


def read_rows(path: Path, kind: TableSchema) -> Rows:
    """All rows of a table."""
    rows: Rows = read_table(path, kind).to_pylist()
    return rows


def read_by(names: Sequence[str], paths: Sequence[Path], kind: TableSchema) -> dict[str, Rows]:
    """The rows of a table of each role or captioner, by its name."""
    return {name: read_rows(path, kind) for name, path in zip(names, paths, strict=True)}
