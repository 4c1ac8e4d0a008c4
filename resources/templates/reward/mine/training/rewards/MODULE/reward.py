"""Reward of brevity: each word beyond a number of words costs 1."""

from functools import partial

import torch


def brevity(words, batch, captions):
    """Return the reward (B,) of each caption, and its length (B,) for the training log."""
    lengths = torch.tensor([float(len(caption.split())) for caption in captions], device=batch.images.device)
    return (words - lengths).clamp(max=0), {"words": lengths}


def build(config, data):
    """Return the reward of a block of the config."""
    return partial(brevity, config["words"])
