"""Config of questions answered from captions."""

from typing import Annotated

from pydantic import Field

from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import Model, Ref, Unique

FACTS = MetricFacts(
    place=10,
    metrics={
        "question accuracy": Definition(
            "Share of the questions about the images that are answered correctly from captions alone.", "%", "items"
        ),
        "question accuracy, *": Definition(
            "Share of the questions of this kind that are answered correctly from captions alone.", "%", "items"
        ),
        "unanswered questions": Definition(
            "Share of the questions about the images that captions alone do not answer.", "%", "items"
        ),
    },
    asks=("questions",),
    reads=("questions",),
    libraries=("numpy",),
)


class Keys(Model):
    """Keys of an evaluation that ask for questions."""

    questions: Annotated[list[Annotated[str, Ref("questions")]], Unique()] = Field(
        [], description="sets of questions about the images, which their answerers answer from each caption alone"
    )
