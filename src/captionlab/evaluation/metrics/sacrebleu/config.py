"""Config of SacreBLEU."""

from pydantic import Field

from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import Model

FACTS = MetricFacts(
    place=9,
    metrics={
        "SacreBLEU": Definition(
            "BLEU-4 of captions as they were written, by the library sacrebleu (Post 2018), from sums over the corpus.",
            "points, 0 to 100",
            "corpus",
        )
    },
    asks=("sacrebleu",),
    references=True,
    reads=("texts", "tokenizers"),
    libraries=("numpy", "sacrebleu"),
)


class Keys(Model):
    """Keys of an evaluation that ask for SacreBLEU."""

    sacrebleu: bool = Field(
        False, description="whether to compute BLEU by the library sacrebleu, of captions as they were written"
    )
