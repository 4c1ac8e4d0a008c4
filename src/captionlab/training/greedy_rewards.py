"""Measure whether a training by a reward raised that reward: greedy captions of training images, before and after."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from captionlab.captioners.captioner import Captioner
from captionlab.generation.contract import Decoding
from captionlab.generation.decoding import decode
from captionlab.networks.tokenizer import Tokenizer
from captionlab.progress import progress
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Reward

# Images that are captioned at most; of a retriever that needs more candidates, one batch of the training.
IMAGES = 1000
# Images that are captioned at a time, if the batches of the training are no larger.
AT_A_TIME = 250

Columns = dict[str, list[Any]]


def turns_of(reward: Mapping[str, Any]) -> int:
    """Return after how many updates all parts of a config's reward that alternate had their turns."""
    parts = [part.get("reward", part) for part in reward.get("of", [])]
    return math.lcm(len(parts) if reward["kind"] == "alternate" else 1, *map(turns_of, parts))


@dataclass(frozen=True)
class GreedyRewards:
    """Rewards of greedy captions of the first training images, which are cut into batches as in the training.

    The candidates of a retriever are images of the same batch, as many as in the training, in the order of the corpus.
    Images that do not fill a batch are left out.
    """

    data: TrainingData
    reward: Reward
    turns: int
    decoding: Decoding

    @property
    def images(self) -> int:
        """Return how many images are captioned."""
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
        """Return these images as the captioner reads them, by row, on the device."""
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
        """Return the reward of a caption of each image, and whether it finds its image where a retriever is asked."""
        rewards: list[float] = []
        accuracies: list[float | None] = []
        for batch in self._batches():
            of_batch = captions[len(rewards) : len(rewards) + len(batch.images)]
            found = [self.reward(replace(batch, step=step), of_batch) for step in range(self.turns)]
            rewards += torch.stack([reward for reward, _ in found]).double().mean(0).tolist()
            statistics = found[0][1]
            accuracies += statistics["accuracy"].tolist() if "accuracy" in statistics else [None] * len(of_batch)
        return rewards, accuracies
