"""Best of n: of several samples of an image, the sample with the largest reward is learnt."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from captionlab.config.evaluations import Decoding, read_decoding
from captionlab.generation.decoding import decode
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.loop.trainer import Objective
from captionlab.training.rewards.reward import build_reward


@dataclass(eq=False)
class BestOf(Objective):
    """Cross-entropy of the best of several samples of each image."""

    tokenizer: Tokenizer
    decoding: Decoding
    reward: Any
    samples: int

    def loss(self, model, batch):
        """Return the loss of a batch, with gradient, and the statistics for the log."""
        model.train()
        drawn = decode(model, batch.visual.repeat_interleave(self.samples, dim=0), self.decoding, self.tokenizer)
        captions = self.tokenizer.decode(drawn.tokens.tolist())
        rewards = self.reward(replace(batch, captions=self.samples), captions)[0].view(-1, self.samples)
        best = rewards.argmax(1) + torch.arange(len(rewards), device=rewards.device) * self.samples
        log_probs = model.log_probs(batch.visual, drawn.tokens[best], drawn.mask[best])
        return -log_probs.sum() / drawn.lengths[best].sum(), {"reward": rewards.mean()}

    def earned(self, batch, captions):
        """Return the reward of each caption of a batch's images."""
        return [*self.reward(batch, captions)[0].tolist()]


def build(config, data):
    """Return the objective of a config block, and batches of images to caption."""
    decoding, reward = read_decoding(config["decoding"]), build_reward(config["reward"], data)
    return BestOf(data.tokenizer, decoding, reward, config["samples"]), ImageBatches(data.visual, **data.order)
