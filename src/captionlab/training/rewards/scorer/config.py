"""Config of the reward scorer."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from captionlab.config.model import Ref
from captionlab.config.rewards import RewardFacts
from captionlab.config.training import Reward

FACTS = RewardFacts(asks="scorer")


class Config(Reward):
    """Matching score of a caption and its image."""

    kind: Literal["scorer"]
    scorer: Annotated[str, Ref("scorers")] = Field(description="scorer of a caption with its image")
    scale: PositiveFloat = Field(1.0, description="factor on the score")
