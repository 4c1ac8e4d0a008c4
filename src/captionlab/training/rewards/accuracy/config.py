"""Config of the reward accuracy: whether a retriever finds the image of a caption."""

from typing import Literal

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import RetrievalReward

FACTS = RewardFacts(asks="retriever")


class Config(RetrievalReward):
    """Whether a retriever finds the image of a caption."""

    kind: Literal["accuracy"]
