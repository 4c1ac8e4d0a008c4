"""Config of metrics by a command."""

from typing import Annotated

from pydantic import Field

from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import Model, Ref, Unique

FACTS = MetricFacts(
    place=8,
    metrics={
        "{block}": Definition(
            "Score that the command of this name gives, averaged over captions.", "score times `scale`", "mean"
        )
    },
    asks=("metrics",),
)


class Keys(Model):
    """Keys of an evaluation that ask for metrics by a command."""

    metrics: Annotated[list[Annotated[str, Ref("metrics")]], Unique()] = Field(
        [], description="commands that score every caption"
    )
