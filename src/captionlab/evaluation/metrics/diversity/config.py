"""Config of diversity."""

from pydantic import Field

from captionlab.config.metrics import MetricFacts
from captionlab.config.model import Model

FACTS = MetricFacts(
    place=7,
    taken=("distinct-1", "distinct-2", "vocabulary", "length", "novelty"),
    asks=("diversity",),
    reads=("tokens", "references", "training"),
    libraries=("numpy", "pycocoevalcap", "scipy"),
)


class Keys(Model):
    """Keys of an evaluation that ask for diversity."""

    diversity: bool = Field(
        False,
        description="whether to measure how different captions are, of different images and of one image, and how many "
        "are new",
    )
