"""A small captioner, a reward of its samples, and their log-probabilities token by token, for objectives that draw."""

import torch
from safetensors.torch import save_file
from support.decodings import decoding_of

from captionlab.captioners.newfc.captioner import NewFC
from captionlab.jobs.processes import is_first
from captionlab.networks.words import learn_words
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.grpo.objective import Grpo
from captionlab.training.parent import frozen_parent

WORDS = ["a", "dog", "red", "ball", "two", "on"]
LONGEST = 5
"""tokens of a caption"""


def tokenizer_of_words():
    return learn_words([" ".join(WORDS)], 1)


def captioner_of(tokenizer, dropout=0.0, seed=1):
    torch.manual_seed(seed)
    captioner = NewFC(4, width=6, input_width=5, vocabulary=tokenizer.size, dropout=dropout)
    for parameter in captioner.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return captioner


class RewardModel:
    """Remembers what it was asked, and rewards by words and image."""

    def __init__(self):
        self.asked = []

    def __call__(self, batch, captions):
        images = batch.images[batch.rows].tolist()
        self.asked += zip(images, captions, strict=True)
        values = torch.tensor([reward_of(image, caption) for image, caption in zip(images, captions, strict=True)])
        return values, {"twice": 2 * values}


def reward_of(image, caption):
    return (image + 1) * 0.3 + sum(ord(letter) for letter in caption) % 7


def log_probs(captioner, tokenizer, image, caption):
    """Log-probabilities of the words of a caption and, where it is not cut, its end, one after the other."""
    tokens = [*tokenizer.encode([caption])[0], 0][:LONGEST]
    found = []
    for number, token in enumerate(tokens):
        logits, state = captioner.start(image[None], 9)
        for before in tokens[:number]:
            logits, state = captioner.step(torch.tensor([before]), state)
        found.append(logits[0].log_softmax(0)[token])
    return found


class InterruptedGrpo(Grpo):
    """One that raises an error when one of its updates is about to be made."""

    fails_at = None
    done = 0

    def end_batch(self):
        super().end_batch()
        self.done += 1
        if self.done == self.fails_at:
            raise InterruptedError


def train_by_grpo(folder, accumulate=1, fails_at=None):
    """Eleven updates, three on each set of samples; weights and log go to `folder`."""
    tokenizer = tokenizer_of_words()
    captioner, decoding = captioner_of(tokenizer, dropout=0.3), decoding_of("sample", LONGEST)
    parent = frozen_parent(captioner)
    objective = InterruptedGrpo(tokenizer, decoding, RewardModel(), samples=3, kl=0.1, parent=parent)
    objective.fails_at = fails_at
    images = torch.randn(40, 4, generator=torch.Generator().manual_seed(3))
    optimizer = {"kind": "adam", "lr": 0.03, "steps": 11, "accumulate": accumulate}
    paths = {"log_path": folder / "training.parquet", "state_directory": folder / "state", "fingerprint": "f"}
    batches = ImageBatches(images, 9, seed=3, updates=3)
    train(captioner, objective, batches, optimizer, seed=4, device="cpu", checkpoint_steps=1, **paths)
    if is_first():
        save_file(captioner.state_dict(), folder / "model.safetensors")
