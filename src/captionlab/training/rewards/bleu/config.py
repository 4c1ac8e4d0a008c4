"""Config of the reward bleu."""

from typing import Literal

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import Reward

FACTS = RewardFacts(references=True, libraries=("pycocoevalcap",))


class Config(Reward):
    """BLEU-4."""

    kind: Literal["bleu"]
