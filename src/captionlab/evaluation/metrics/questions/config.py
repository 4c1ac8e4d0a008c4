"""Config of questions answered from captions."""

from typing import Annotated

from pydantic import Field

from captionlab.config.metrics import MetricFacts
from captionlab.config.model import Model, Ref, Unique

FACTS = MetricFacts(place=10, asks=("questions",), reads=("questions",), libraries=("numpy",))


class Keys(Model):
    """Keys of an evaluation that ask for questions."""

    questions: Annotated[list[Annotated[str, Ref("questions")]], Unique()] = Field(
        [], description="sets of questions about the images, which their answerers answer from each caption alone"
    )
