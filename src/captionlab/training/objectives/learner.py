"""What the modules of objectives build from: a captioner to be trained, and what it is trained with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from captionlab.captioners.captioner import Captioner
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.loop.data import RewardModel, TrainingData, encode_references
from captionlab.training.rewards.reward import Reward, build_reward


@dataclass(frozen=True)
class Learner:
    """A captioner that is to learn."""

    captioner: Captioner[Any]
    tokenizer: Tokenizer
    data: TrainingData
    reward_models: Mapping[str, RewardModel]
    """the retrievers and scorers that its reward names, as encoders/{name} and scorers/{name}"""
    order: Mapping[str, Any]
    """size, seed and places of batches"""

    def references(self) -> Sequence[Sequence[Sequence[int]]]:
        """Token ids of each reference of each training image."""
        captioner = self.captioner
        return encode_references(self.data.texts, self.tokenizer, captioner.longest, captioner.cut_keeps_end)

    def reward(self, config: Mapping[str, Any]) -> Reward:
        """The reward of a config block."""
        return build_reward(config, self.data, self.reward_models)

    def images(self) -> ImageBatches:
        """Batches of the training images."""
        return ImageBatches(self.data.visual, **self.order)

    def freeze_token_embeddings(self) -> None:
        """Exclude the table of token embeddings, and an output layer tied to it, from training."""
        freeze_token_embeddings(self.captioner, self.tokenizer.size)


def freeze_token_embeddings(captioner: torch.nn.Module, vocabulary: int) -> None:
    """Exclude the table of token embeddings, and an output layer tied to it, from training.

    In the authors' code the optimizer was given the table before it was replaced by a larger copy, so it never changed.
    """
    tables = [m for m in captioner.modules() if isinstance(m, torch.nn.Embedding) and m.num_embeddings == vocabulary]
    if not tables:
        raise ValueError(f"objective.freeze_embeddings: the captioner has no table of {vocabulary} token embeddings")
    for table in tables:
        table.requires_grad_(False)
