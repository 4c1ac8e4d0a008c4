"""Config of the questions about corpora of the toy world."""

from typing import Literal

from pydantic import Field

from captionlab.config.model import OwnSeed
from captionlab.config.questions import Questions, ReaderFacts

FACTS = ReaderFacts(rendered=True)


class Config(Questions):
    """Questions about what rendered images show."""

    reader: Literal["toyworld"]
    seed: OwnSeed = Field(None, description="seed of the wrong options; by default the seed of the config")
