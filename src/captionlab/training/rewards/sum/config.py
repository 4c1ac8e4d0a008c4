"""Config of the reward sum."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import Model
from captionlab.config.rewards import RewardFacts
from captionlab.config.training import AnyReward, Reward

FACTS = RewardFacts(of=True)


class Summand(Model):
    """A part of a sum."""

    weight: float = Field(description="factor on the reward")
    reward: AnyReward = Field(description="reward")


class Config(Reward):
    """A weighted sum of rewards."""

    kind: Literal["sum"]
    of: Annotated[list[Summand], Len(1)] = Field(description="rewards with their weights")
