"""Config of the reward alternate."""

from typing import Annotated, Literal

from annotated_types import Len
from pydantic import Field

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import AnyReward, Reward

FACTS = RewardFacts(of=True)


class Config(Reward):
    """Several rewards that take turns."""

    kind: Literal["alternate"]
    of: Annotated[list[AnyReward], Len(2)] = Field(description="rewards that take turns, update by update")
