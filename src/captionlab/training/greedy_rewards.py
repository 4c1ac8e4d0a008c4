"""Measure whether a training raised its reward, on greedy captions of training images before and after it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from captionlab.captioners.captioner import Captioner
from captionlab.config.evaluations import Decoding
from captionlab.generation.decoding import decode
from captionlab.jobs.progress import progress
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Reward

# Largest number of captioned images. If a training batch is larger, one batch is captioned.
IMAGES = 1000
# Number of images captioned at a time. If a training batch is larger, one batch is captioned at a time.
AT_A_TIME = 250

Columns = dict[str, list[Any]]


def turns_of(reward: Mapping[str, Any]) -> int:
    """Return the number of updates after which every alternating part of a config's reward has had its turn."""
    parts = [part.get("reward", part) for part in reward.get("of", [])]
    return math.lcm(len(parts) if reward["kind"] == "alternate" else 1, *map(turns_of, parts))


@dataclass(frozen=True)
class GreedyRewards:
    """Rewards of greedy captions of the first training images, in batches as large as in the training.

    The candidates of a retriever are the images of the same batch, as many as in the training, in the order of the
    corpus. Images that do not fill a batch are left out.
    """

    data: TrainingData
    reward: Reward
    turns: int
    decoding: Decoding

    @property
    def images(self) -> int:
        """Return the number of captioned images."""
        return max(1, min(IMAGES, len(self.data.ids)) // self.data.batch) * self.data.batch

    def rows(self, parent: tuple[Captioner[Any], Tokenizer], captioner: tuple[Captioner[Any], Tokenizer]) -> Columns:
        """Return the columns of REWARDS for captions of a captioner and of its parent, each with its tokenizer."""
        before, after = ([*self._captions(*one)] for one in (parent, captioner))
        commonest, _ = Counter(after).most_common(1)[0]
        found: Columns = {name: [] for name in ("captions", "image_id", "caption", "reward", "accuracy")}
        for name, captions in (("before", before), ("after", after), ("commonest", [commonest] * self.images)):
            rewards, accuracies = self._earned(captions)
            found["captions"] += [name] * self.images
            found["image_id"] += self.data.ids[: self.images]
            found["caption"] += captions
            found["reward"] += rewards
            found["accuracy"] += accuracies
        return found

    @cached_property
    def visual(self) -> Any:
        """Return the captioned images as the captioner reads them, by row, on the device."""
        return self.data.visual_of(self.data.ids[: self.images])

    @property
    def _at_a_time(self) -> int:
        return max(1, AT_A_TIME // self.data.batch) * self.data.batch

    def _batches(self) -> Iterator[ImageBatch]:
        for rows in torch.arange(self.images, device=self.data.device).split(self._at_a_time):
            yield ImageBatch(self.visual[rows], rows)

    def _captions(self, captioner: Captioner[Any], tokenizer: Tokenizer) -> Iterator[str]:
        captioner.eval()
        for batch in progress(self._batches(), "batches", -(-self.images // self._at_a_time)):
            yield from tokenizer.decode(decode(captioner, batch.visual, self.decoding, tokenizer).tokens.tolist())

    def _earned(self, captions: Sequence[str]) -> tuple[list[float], list[float | None]]:
        """Return the reward of each image's caption, averaged over the turns of the reward, and its retrieval accuracy.

        The accuracy is 1.0 if the caption finds its image and 0.0 if not, or None if the reward has no retriever.
        """
        rewards: list[float] = []
        accuracies: list[float | None] = []
        for batch in self._batches():
            of_batch = captions[len(rewards) : len(rewards) + len(batch.images)]
            found = [self.reward(replace(batch, step=step), of_batch) for step in range(self.turns)]
            rewards += torch.stack([reward for reward, _ in found]).double().mean(0).tolist()
            statistics = found[0][1]
            accuracies += statistics["accuracy"].tolist() if "accuracy" in statistics else [None] * len(of_batch)
        return rewards, accuracies
