"""Config of the reward similarity: similarity of a caption and its image."""

from typing import Literal

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import RetrievalReward

FACTS = RewardFacts(asks="retriever")


class Config(RetrievalReward):
    """Similarity of a caption and its image."""

    kind: Literal["similarity"]
