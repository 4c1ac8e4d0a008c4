"""Learning to match: a scorer tells captions of an image from captions of others, and guesses words that are hidden."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from captionlab.scorers.pairs import PairBatch
from captionlab.scorers.scorer import Scorer
from captionlab.scorers.visual import padding_mask

# Captions of about the same length that are computed together.
CHUNK = 32


class Learner(nn.Module):
    """A scorer and what it needs only while it learns: an output that guesses hidden words."""

    def __init__(self, scorer: Scorer):
        super().__init__()
        width, vocabulary = (scorer.network.architecture[name] for name in ("width", "vocabulary"))
        self.scorer = scorer
        self.guess = nn.Sequential(
            nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, vocabulary)
        )


class MatchingObjective:
    """Match or no match, and the words that are hidden in captions that match: two cross-entropies, added.

    All four families were pre-trained on both. Of the two, hidden words teach which region a word is about; matching
    alone stays at chance for long. As in LXMERT (section 3.1), both come from one pass: words are hidden in captions
    that do not match as well, where they are not guessed.
    """

    def __init__(self, masking: float):
        """Hide this share of the word pieces."""
        self.masking = masking

    def loss(self, model: Learner, batch: PairBatch) -> tuple[Tensor, dict[str, Any]]:
        """The loss (nats) of a batch with its gradient, and the shares of pairs and of hidden words that are told."""
        scorer = model.scorer
        visual = scorer.encode_image(batch.regions)
        tokens = scorer.encode_text(batch.captions)
        order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        logits, guesses, words = [], [], []
        for start in range(0, len(order), CHUNK):
            chunk = order[start : start + CHUNK]
            lengths = [len(tokens[row]) for row in chunk]
            device = visual.states.device
            ids = torch.tensor(
                [[*tokens[row], *[0] * (max(lengths) - len(tokens[row]))] for row in chunk], device=device
            )
            hidden = self._hidden(ids, lengths)
            text, image = scorer.network.states(
                visual.select([batch.rows[row] for row in chunk]),
                ids.masked_fill(hidden, scorer.words.mask),
                padding_mask(lengths, max(lengths), device),
            )
            logits.append(scorer.network.judge(text, image))
            told = hidden & torch.tensor([batch.matches[row] for row in chunk], device=device)[:, None]
            # A task token of the network, if it has one, is in front of the words.
            guesses.append(model.guess(text[:, -ids.shape[1] :][told]))
            words.append(ids[told])
        matches = torch.tensor([batch.matches[row] for row in order], device=visual.states.device)
        match_loss, accuracy = _match_loss(scorer, torch.cat(logits), matches)
        guess, word = torch.cat(guesses), torch.cat(words)
        word_loss = cross_entropy(guess, word, reduction="sum") / max(1, len(word))
        guessed = (guess.argmax(1) == word).sum() / max(1, len(word))
        return match_loss + word_loss, {"match_loss": match_loss, "accuracy": accuracy, "words_guessed": guessed}

    def _hidden(self, ids: Tensor, lengths: list[int]) -> Tensor:
        """Which positions (B, T) are hidden: a random share of those between the special tokens."""
        position = torch.arange(ids.shape[1], device=ids.device)
        inside = (position > 0) & (position < torch.tensor(lengths, device=ids.device)[:, None] - 1)
        return inside & (torch.rand(ids.shape, device=ids.device) < self.masking)

    def end_batch(self) -> None:
        """Nothing is kept from batch to batch."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take nothing back."""


def _match_loss(scorer: Scorer, logits: Tensor, matches: Tensor) -> tuple[Tensor, Tensor]:
    """The loss of the head's outputs and how often it is right, for pairs that match or not (B,)."""
    index = scorer.matching.match_index
    if scorer.matching.head == "itm":
        loss = cross_entropy(logits, torch.where(matches, index, 1 - index))
        told = (logits.argmax(1) == index) == matches
    else:
        loss = binary_cross_entropy_with_logits(logits[:, 0], matches.float())
        told = (logits[:, 0] > 0) == matches
    return loss, told.float().mean()
