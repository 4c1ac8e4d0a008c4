"""How an image-text pair becomes a score: what is read of the text, which output is the match, and its scale."""

from dataclasses import dataclass

from torch import Tensor

HEADS = ("itm", "retrieval")


@dataclass(frozen=True)
class Matching:
    """Settings of a scorer. Every family has its own defaults, those of its authors' code."""

    match_index: int
    """which of the two outputs of the itm head says that image and text belong together"""
    max_tokens: int
    """longer texts are cut to so many tokens, the two special ones included"""
    head: str = "itm"
    """itm: two outputs, trained to tell pairs from strangers; retrieval: one output, fine-tuned to rank"""
    scale: float = 1.0
    """factor on the probability; 100 gives per cent"""
    lowercase: bool = True
    """whether text is put in lower case and loses its accents, as the vocabulary asks for"""
    strip_punctuation: bool = False
    """whether punctuation is taken out of the text first"""

    def __post_init__(self) -> None:
        if self.head not in HEADS:
            raise ValueError(f"head is {self.head!r}; it must be {' or '.join(HEADS)}")
        if self.match_index not in (0, 1):
            raise ValueError(f"match_index is {self.match_index}; the itm head has the outputs 0 and 1")
        if self.max_tokens < 3:
            raise ValueError(f"max_tokens is {self.max_tokens}; two special tokens and a word piece need 3")

    @property
    def outputs(self) -> int:
        """Number of outputs of the head."""
        return 2 if self.head == "itm" else 1

    def score(self, logits: Tensor) -> Tensor:
        """Matching scores (B,), from 0 to `scale`, of the head's outputs (B, 2 or 1).

        The itm head gives the softmax probability of a match. The retrieval head gives the sigmoid of its only output:
        UNITER was fine-tuned on it, and it orders images and texts as the output itself does.
        """
        probability = logits.softmax(1)[:, self.match_index] if self.head == "itm" else logits[:, 0].sigmoid()
        return self.scale * probability
