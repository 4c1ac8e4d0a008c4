"""Config of the reward cider."""

from typing import Literal

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import Reward

FACTS = RewardFacts(references=True, libraries=("numpy",))


class Config(Reward):
    """CIDEr-D."""

    kind: Literal["cider"]
