"""Config of the tables and figures of Ma et al. 2022."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from annotated_types import Len
from pydantic import Field

from captionlab.config.analyses import outside
from captionlab.config.model import Block, Model, Ref, Unique
from captionlab.config.papers import Corpora, PaperFacts, SeeingTrainings

FACTS = PaperFacts()

Constructed = Annotated[
    str,
    Ref(
        "captioners",
        trainings=True,
        accepts={"family": ["constructed"]},
        reason="is {name}, whose family is not constructed",
    ),
]


class Config(Model):
    """Tables and figures of Ma et al. 2022, *Do image-text matching models reward human-like captions?*"""

    comparable: bool = Field(description="whether numbers of this run are compared with the paper's")
    evaluation: Annotated[str, Ref("evaluations")] = Field(
        description="evaluation with the numbers; it has all that is named below"
    )
    captioners: Annotated[dict[str, SeeingTrainings], Len(1)] = Field(
        description="by the paper's label of a role a captioner, or several that differ by the seed of their training. "
        "All others are compared with `CE`; the paper's others are called after their scorer. The row of another label "
        "has no published numbers"
    )
    corpora: Corpora = Field(description="corpus by the paper's label")
    scorers: Annotated[dict[str, Annotated[str, Ref("scorers")]], Len(1)] = Field(
        description="scorer by the paper's name"
    )
    constructed: Constructed | Annotated[list[Constructed], Len(1), Unique()] = Field(
        description="captioners of the family constructed, for tables 1, 6 and 7 and figures 2 and 3"
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for a missing section or role, and for what the evaluation does not have."""
        if "language" not in config:
            yield "{place} needs a language model; add the section `language`"
        if "CE" not in self.captioners:
            yield "{place}.captioners needs the role CE, which all others are compared with"
        yield from outside(config, self.evaluation, "captioners", {"constructed": self.constructed})
        for section in ("captioners", "scorers", "corpora"):
            named = {f"{section}.{label}": value for label, value in getattr(self, section).items()}
            yield from outside(config, self.evaluation, section, named)


def run_mistakes(config: Block, where: str, block: Block) -> Iterator[str]:
    """Yield nothing: the model sees all mistakes."""
    yield from ()
