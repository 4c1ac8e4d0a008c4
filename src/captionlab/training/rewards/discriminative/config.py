"""Config of the reward discriminative: log-probability of the image of a caption."""

from typing import Literal

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import RetrievalReward

FACTS = RewardFacts(asks="retriever")


class Config(RetrievalReward):
    """Log-probability of the image of a caption."""

    kind: Literal["discriminative"]
