"""Facts of a kind of reward, which the graph reads."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class RewardFacts:
    """Facts of a kind of reward, which the graph reads."""

    asks: Literal["nothing", "retriever", "scorer", "questions"] = "nothing"
    """kind of model, or questions, that it asks; the block of the reward names these under a key of this name"""
    references: bool = False
    """whether it reads the references of the training images"""
    of: bool = False
    """whether it combines the rewards in its list `of`; an item with a weight has its reward under the key `reward`"""
    libraries: tuple[str, ...] = ()
    """libraries whose versions change the reward, beside torch and the libraries of the model that it asks"""
