"""What the graph must know of a kind of reward."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class RewardFacts:
    """What the graph must know of a kind of reward."""

    asks: Literal["nothing", "retriever", "scorer"] = "nothing"
    """model that it asks, which its block names under a key of this name"""
    references: bool = False
    """whether it reads the references of the training images"""
    of: bool = False
    """whether it is made of the rewards in its list `of`; a reward with a weight there is the `reward` of its item"""
    libraries: tuple[str, ...] = ()
    """libraries beside torch and beside those of the model that it asks whose versions matter to it"""
