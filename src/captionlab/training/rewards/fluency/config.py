"""Config of the reward fluency."""

from typing import Literal

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import Reward

FACTS = RewardFacts(references=True, libraries=("numpy",))


class Config(Reward):
    """log-probability by a trigram language model."""

    kind: Literal["fluency"]
