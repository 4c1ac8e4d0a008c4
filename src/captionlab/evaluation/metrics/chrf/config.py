"""Config of chrF."""

from pydantic import Field

from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import Model

FACTS = MetricFacts(
    place=9,
    metrics={
        "chrF": Definition(
            "F-score, with recall counted twice, of the n-grams of 1 to 6 characters of captions as they were written, "
            "from sums over the corpus (Popović 2015).",
            "points, 0 to 100",
            "corpus",
        )
    },
    asks=("chrf",),
    references=True,
    reads=("texts",),
    libraries=("numpy", "sacrebleu"),
)


class Keys(Model):
    """Keys of an evaluation that ask for chrF."""

    chrf: bool = Field(
        False, description="whether to compute chrF, which needs no tokeniser, of captions as they were written"
    )
