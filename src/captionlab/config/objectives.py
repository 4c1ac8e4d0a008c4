"""What the graph must know of an objective of captioners."""

from dataclasses import dataclass
from typing import Literal

# What a captioner predicts: the next word of a caption, or masked words.
Prediction = Literal["next-word", "masked-words"]


@dataclass(frozen=True, kw_only=True)
class ObjectiveFacts:
    """What the graph must know of an objective of captioners."""

    predicts: Prediction = "next-word"
    """what a captioner must be able to predict; the facts of its family say what it predicts"""
    dropout: bool = True
    """whether there is dropout in a training by it, if its block has no key `dropout`"""
    of_references: bool = False
    """whether references are learnt, so that a captioner can be trained by it from scratch"""
