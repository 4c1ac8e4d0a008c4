"""Config of the paper NAME."""

from pydantic import Field

from captionlab.config.model import Model
from captionlab.config.papers import PaperFacts

FACTS = PaperFacts()


class Config(Model):
    """Table of the paper."""

    comparable: bool = Field(description="whether numbers of this run are compared with the numbers of the paper")


def run_mistakes(config, where, block):
    """Yield a sentence for each mistake that the model alone cannot see."""
    yield from ()
