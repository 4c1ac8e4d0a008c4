"""Tables of scores that a metric's module makes alone (captionlab.evaluation.metrics): what the job of each reads."""

from collections.abc import Iterator
from pathlib import Path

from captionlab import paths
from captionlab.workflow.basis import Basis
from captionlab.workflow.embedding import Embedding
from captionlab.workflow.families import asked_tables


class Metrics:
    """The metrics of a config that need no rule of their own."""

    def __init__(self, basis: Basis, embedding: Embedding):
        self.basis, self.embedding = basis, embedding

    def asked_by(self, evaluation: str) -> list[str]:
        """Names of those tables that an evaluation asks for."""
        asked = asked_tables(self.basis.config, self.basis.evaluations[evaluation])
        return [table for table, declared in asked.items() if declared.reads]

    def missing_categories(self) -> Iterator[str]:
        """A sentence for each list of categories that an evaluation names and that is not there."""
        for name, evaluation in self.basis.evaluations.items():
            if (given := evaluation.get("objects")) and given not in paths.CATEGORIES:
                section = "judgements" if name in self.basis.config["judgements"] else "evaluations"
                for said in self.basis.missing([(f"{section}.{name}.objects", given)]):
                    yield f"{said}; the lists that come with captionlab are {' and '.join(paths.CATEGORIES)}"

    def taken_categories(self) -> Iterator[str]:
        """A sentence for each list that comes with captionlab and has the name of a file of the data."""
        asked = {evaluation.get("objects") for evaluation in self.basis.evaluations.values()}
        for name in sorted(asked & paths.CATEGORIES.keys()):
            if (path := Path(self.basis.data) / name).exists():
                yield f"{path}: `objects: {name}` is the list that comes with captionlab; rename this file, or move it"

    def categories(self, evaluation: str) -> str:
        """Return the list of categories of an evaluation: shipped with the workflow, or a file below the data."""
        name = self.basis.evaluations[evaluation]["objects"]
        shipped = paths.CATEGORIES.get(name)
        return self.basis.shipped(shipped) if shipped else self.basis.given(name)
