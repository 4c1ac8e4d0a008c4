"""Config of the metric NAME."""

from pydantic import Field

from captionlab.config.metrics import MetricFacts
from captionlab.config.model import Model

FACTS = MetricFacts(place=100, asks=("MODULE",), reads=("tokens",), libraries=("numpy",))


class Keys(Model):
    """Keys of an evaluation that ask for repetition."""

    MODULE: bool = Field(False, description="whether to measure how many words of a caption repeat earlier words")
