"""Config of the reward NAME."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import Reward

FACTS = RewardFacts()


class Config(Reward):
    """Brevity of a caption."""

    kind: Literal["NAME"]
    words: PositiveInt = Field(8, description="words of a caption that cost nothing")
