"""Config of metrics by a command."""

from typing import Annotated

from pydantic import Field

from captionlab.config.metrics import MetricFacts
from captionlab.config.model import Model, Ref, Unique

FACTS = MetricFacts(place=8, asks=("metrics",))


class Keys(Model):
    """Keys of an evaluation that ask for metrics by a command."""

    metrics: Annotated[list[Annotated[str, Ref("metrics")]], Unique()] = Field(
        [], description="commands that score every caption"
    )
