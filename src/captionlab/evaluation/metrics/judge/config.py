"""Config of scores by judges."""

from typing import Annotated

from pydantic import Field

from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import Model, Ref, Unique

FACTS = MetricFacts(
    place=11,
    metrics={
        "{block}": Definition(
            "Score that the judge of this name gives, averaged over the captions that it answers about.",
            "points of the judge; a score from 0 to 1 times 100",
            "corpus",
        ),
        "{block}: no answer": Definition("Share of the captions about which the judge gives no answer.", "%", "share"),
    },
    asks=("judges",),
)


class Keys(Model):
    """Keys of an evaluation that ask for scores by judges."""

    judges: Annotated[list[Annotated[str, Ref("judges")]], Unique()] = Field(
        [], description="judges, models behind servers, that score every caption"
    )
