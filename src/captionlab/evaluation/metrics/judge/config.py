"""Config of scores by judges."""

from typing import Annotated

from pydantic import Field

from captionlab.config.metrics import MetricFacts
from captionlab.config.model import Model, Ref, Unique

FACTS = MetricFacts(place=11, asks=("judges",))


class Keys(Model):
    """Keys of an evaluation that ask for scores by judges."""

    judges: Annotated[list[Annotated[str, Ref("judges")]], Unique()] = Field(
        [], description="judges, models behind servers, that score every caption"
    )
