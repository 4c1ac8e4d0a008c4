"""Decoding: greedy, sampled or by beam search, over a batch of images.

A captioner that `generates` (the family transformers) is decoded by `generate` of transformers. The rest of this page
is about all other captioners.

Beam search returns the tokens and scores of transformers' `generate` with its defaults (early_stopping False, the
prefix not counted) and any `length_penalty`. `repetition_penalty`, `temperature`, `top_k` and `top_p` act as
transformers' logits processors do, in the same order. The repetition penalty only considers tokens of the caption.
`generate` also considers tokens of a prompt that is passed as token ids.

`stop` is the rule of the authors of Dessì et al. (2023): after a token whose text contains ".", the end token is forced
and does not change the score. Finished images leave the batch.

`rules: transformers-2022` is the beam search of transformers before November 2023, for example version 4.24. The
captions of Dessì et al. (2023) are from that time. A beam's log-probability is divided by the length of the whole
sequence, which includes the prefix or prompt and excludes the end token. A search ends when no continuation, divided by
the length before it, beats the worst finished caption.

`rules: oscar` is the beam search of Oscar and VinVL (github.com/microsoft/Oscar, on pytorch-transformers 1.0). A search
ends when no open beam could beat the best finished caption at any length. All continuations that rank before the last
open beam may finish. If a caption is cut, the end token replaces its last token.

`rules: camel` is the beam search of Cornia et al. 2020 and CaMEL (github.com/aimagelab/camel,
models/beam_search/beam_search.py). The score of a caption is the sum of its log-probabilities, whatever its length.
Finished captions stay among the beams, so a search ends when all beams of an image are finished. CaMEL has no other
decoding.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from captionlab.captioners.captioner import Captioner, State
from captionlab.captioners.decoded import Decoded
from captionlab.config.evaluations import Beam, Decoding, Sample
from captionlab.generation.replay import replayed
from captionlab.networks.sampling import drawn, log_prob_at
from captionlab.networks.tokenizer import Tokenizer


def decode_with_gradient(
    captioner: Captioner[State],
    visual: Any,
    decoding: Decoding,
    vocabulary: Tokenizer,
    generator: torch.Generator | None = None,
) -> Decoded:
    """Generate captions for a batch of images, with gradient.

    `log_prob` of the result has a gradient if the captioner has `differentiable_steps` and `decoding` is not a beam
    search. Dropout is active in training mode. `generator`, on the captioner's device, makes samples repeatable. Raises
    ValueError if `max_tokens` do not fit into the captioner, or if a vocabulary is too small for the number of beams.
    """
    logits, state = captioner.start(visual, decoding.max_tokens)
    stops = torch.zeros(logits.shape[1], dtype=torch.bool, device=logits.device)
    if decoding.stop is not None:
        stops[vocabulary.stop_ids(decoding.stop)] = True
    if isinstance(decoding, Beam):
        search = _camel_beam_search if decoding.rules == "camel" else _beam_search
        return search(captioner, logits, state, decoding, vocabulary.end, stops)
    return _one_path(captioner, logits, state, decoding, vocabulary.end, stops, generator)


@torch.no_grad()
def decode(
    captioner: Captioner[Any],
    visual: Any,
    decoding: Decoding,
    vocabulary: Tokenizer,
    generator: torch.Generator | None = None,
) -> Decoded:
    """Generate captions for a batch of images, without gradient, with any captioner.

    A family that `generates` writes them itself. On a GPU, steps of other families are replayed
    (captionlab.generation.replay). `generator`, on the captioner's device, makes samples repeatable.
    """
    if captioner.generates:
        return captioner.generate(visual, decoding, vocabulary, generator)
    return decode_with_gradient(replayed(captioner, visual, decoding), visual, decoding, vocabulary, generator)


def _one_path(
    captioner: Captioner[State],
    logits: Tensor,
    state: State,
    decoding: Decoding,
    end: int,
    stops: Tensor,
    generator: torch.Generator | None,
) -> Decoded:
    if decoding.captions_per_image > 1:
        rows = torch.arange(len(logits), device=logits.device).repeat_interleave(decoding.captions_per_image)
        logits, state = logits[rows], captioner.reorder(state, rows)
    tokens = torch.full((len(logits), decoding.max_tokens), end, device=logits.device)
    lengths = torch.zeros(len(logits), dtype=torch.long, device=logits.device)
    log_prob = torch.zeros(len(logits), device=logits.device)
    going = torch.arange(len(logits), device=logits.device)  # rows of the output that are still in the batch
    forced = torch.zeros(len(logits), dtype=torch.bool, device=logits.device)
    for position in range(decoding.max_tokens):
        logits = logits.float()
        scores = logits.detach()
        if decoding.repetition_penalty is not None:
            scores = _penalised(scores, tokens[going, :position], decoding.repetition_penalty)
        chosen = drawn(_weights(scores, decoding), generator) if isinstance(decoding, Sample) else scores.argmax(1)
        chosen = chosen.masked_fill(forced, end)
        log_prob[going] += log_prob_at(logits, chosen)
        tokens[going, position] = chosen
        lengths[going] = position + 1
        open_rows = (chosen != end).nonzero()[:, 0]
        if len(open_rows) == 0 or position + 1 == decoding.max_tokens:
            break
        if len(open_rows) < len(going):
            going, chosen, state = going[open_rows], chosen[open_rows], captioner.reorder(state, open_rows)
        forced = stops[chosen]
        logits, state = captioner.step(chosen, state)
    if decoding.rules == "oscar":
        tokens[:, -1] = end
    return Decoded(tokens[:, : int(lengths.max())], lengths, log_prob, log_prob)


def _penalised(scores: Tensor, said: Tensor, penalty: float) -> Tensor:
    """Return scores (N, vocabulary) with a repetition penalty on the tokens `said` (N, any).

    Positive scores of `said` are divided by `penalty`, negative scores are multiplied by it.
    """
    found = scores.gather(1, said)
    return scores.scatter(1, said, torch.where(found < 0, found * penalty, found / penalty))


def _weights(scores: Tensor, decoding: Sample) -> Tensor:
    """Return the weights (N, vocabulary) with which the next tokens are drawn, from scores (N, vocabulary)."""
    scores = scores / decoding.temperature
    if decoding.top_k is not None:
        least = scores.topk(min(decoding.top_k, scores.shape[1])).values[:, -1:]
        scores = scores.masked_fill(scores < least, -torch.inf)
    weights = scores.softmax(1)
    if decoding.top_p is not None:
        rising, tokens = weights.sort(1)
        # The least probable tokens, without which the other tokens still reach `top_p`.
        spare = rising.cumsum(1) <= 1 - decoding.top_p
        spare[:, -1] = False  # rounding could remove all tokens
        weights = weights.masked_fill(spare.scatter(1, tokens, spare), 0.0)
    return weights


@dataclass
class _Beams:
    """The open beams of the images still in the batch, (images, width, ...), best first.

    Dead beams have the score -inf.
    """

    tokens: Tensor  # (images, width, tokens so far)
    scores: Tensor  # (images, width) log-probability, 0 for forced end tokens
    plain: Tensor  # (images, width) log-probability under the captioner itself


@dataclass
class _Best:
    """The best finished caption of each image, and the scores of the best few captions, (images, ...)."""

    tokens: Tensor
    lengths: Tensor
    plain: Tensor
    scores: Tensor
    """(images, few) log-probability / length by the rules, best first; -inf if there are fewer captions"""

    def offer(self, images: Tensor, scores: Tensor, tokens: Tensor, plain: Tensor) -> None:
        """Add finished captions of some images: `scores` and `plain` (n, any), `tokens` (n, any, length)."""
        score, first = scores.max(1)
        better = (score > self.scores[images, 0]).nonzero()[:, 0]
        first, which, length = first[better], images[better], tokens.shape[2]
        self.tokens[which, :length] = tokens[better, first]
        self.lengths[which] = length
        self.plain[which] = plain[better, first]
        self.scores[images] = torch.cat([self.scores[images], scores], 1).topk(self.scores.shape[1]).values


def _beam_search(
    captioner: Captioner[State], logits: Tensor, state: State, decoding: Beam, end: int, stops: Tensor
) -> Decoded:
    count, width, device, oscar = len(logits), decoding.beams, logits.device, decoding.rules == "oscar"
    former = decoding.rules == "transformers-2022"
    power = 1.0 if decoding.length_penalty is None else decoding.length_penalty
    penalty = decoding.repetition_penalty or 1.0
    # The difference between a length by the rules of 2022 and the number of new tokens: the prompt counts, the end
    # token, or the last token of an open beam, does not.
    more = captioner.prompt_length - 1 if former else 0
    if logits.shape[1] < 2 * width:
        raise ValueError(f"{width} beams need a vocabulary of at least {2 * width} tokens, it has {logits.shape[1]}")
    best = _Best(
        torch.full((count, decoding.max_tokens), end, device=device),
        torch.zeros(count, dtype=torch.long, device=device),
        torch.zeros(count, device=device),
        torch.full((count, 1 if oscar else width), -torch.inf, device=device),
    )
    images = torch.arange(count, device=device)  # images still in the batch
    # At first, each image has a single, empty beam.
    zeros = torch.zeros((count, 1), device=device)
    beams = _Beams(torch.empty((count, 1, 0), dtype=torch.long, device=device), zeros, zeros)
    for length in range(1, decoding.max_tokens + 1):
        parents, beams = _continuations(logits.float(), beams, end, stops, 2 * width, penalty)
        finishing = beams.tokens[:, :, -1] == end
        if length == decoding.max_tokens and not former:
            finishing[:] = True
        # Only the best `width` continuations may finish; the others replace finished beams. By Oscar's rules, all
        # continuations may finish that rank before the last open beam.
        before = (~finishing).cumsum(1) if oscar else torch.arange(2 * width, device=device)
        ended = (beams.scores / (length + more) ** power).masked_fill(~finishing | (before >= width), -torch.inf)
        best.offer(images, ended, beams.tokens, beams.plain)
        scores, chosen = beams.scores.masked_fill(finishing, -torch.inf).topk(width)
        # An image is done when its best open beam, divided by its current length, does not beat its worst finished
        # caption. Oscar keeps a single finished caption and divides by the longest possible length. The rules of 2022
        # compare the best beam, whether open or finished.
        reached = decoding.max_tokens if oscar else length + more
        hope = (beams.scores if former else scores)[:, 0] / reached**power
        open_images = (hope > best.scores[images, -1]).nonzero()[:, 0]
        if len(open_images) == 0:
            break
        previous_width = len(logits) // len(images)
        images, chosen = images[open_images], chosen[open_images]
        beams = _Beams(
            _at(beams.tokens[open_images], chosen), scores[open_images], _at(beams.plain[open_images], chosen)
        )
        if length == decoding.max_tokens:  # the rules of 2022 cut captions after finished captions were offered
            best.offer(images, beams.scores / (length + more + 1), beams.tokens, beams.plain)
            break
        rows = open_images[:, None] * previous_width + _at(parents[open_images], chosen)
        state = captioner.reorder(state, rows.flatten())
        logits, state = captioner.step(beams.tokens[:, :, -1].flatten(), state)
    if oscar:
        best.tokens[:, -1] = end
    return Decoded(best.tokens[:, : int(best.lengths.max())], best.lengths, best.plain, best.scores[:, 0])


def _continuations(
    logits: Tensor, beams: _Beams, end: int, stops: Tensor, keep: int, penalty: float
) -> tuple[Tensor, _Beams]:
    """Return the beam that each continuation extends, and the best `keep` continuations of each image by one token.

    Continuations are sorted, best first.
    """
    images, width, so_far = beams.tokens.shape
    total = logits.logsumexp(1, keepdim=True)
    if penalty == 1:
        # The best continuations of an image are among the best of each beam, so the vocabulary is read only once.
        values, tokens = logits.topk(keep)
        plain = edited = values - total
    else:
        log_probs = logits - total
        edited, tokens = _penalised(log_probs, beams.tokens.flatten(0, 1), penalty).topk(keep)
        plain = log_probs.gather(1, tokens)
    if so_far:
        forced = stops[beams.tokens[:, :, -1].flatten()]
        edited = edited.masked_fill(forced[:, None], -torch.inf)
        edited[forced, 0] = 0.0
        tokens[forced, 0] = end
        plain[forced, 0] = logits[forced, end] - total[forced, 0]
    shape = images, width, keep
    scores, index = (beams.scores[:, :, None] + edited.view(shape)).flatten(1).topk(keep)
    plain = (beams.plain[:, :, None] + plain.view(shape)).flatten(1).gather(1, index)
    parents = index // keep
    token = tokens.view(images, -1).gather(1, index)
    return parents, _Beams(torch.cat([_at(beams.tokens, parents), token[:, :, None]], 2), scores, plain)


def _camel_beam_search(
    captioner: Captioner[State], logits: Tensor, state: State, decoding: Beam, end: int, stops: Tensor
) -> Decoded:
    """Return the best caption of each image by the rules `camel`. `logits` (images, vocabulary) are of the first token.

    After a token that is set in `stops` (vocabulary,), the end token is forced and does not change the score. Follows
    github.com/aimagelab/camel (models/beam_search/beam_search.py).
    """
    images, width, device = len(logits), decoding.beams, logits.device
    tokens = torch.empty((images, 1, 0), dtype=torch.long, device=device)
    scores, plain = (torch.zeros((images, 1), device=device) for _ in range(2))
    finished = torch.zeros((images, 1), dtype=torch.bool, device=device)
    lengths = torch.zeros((images, 1), dtype=torch.long, device=device)
    for length in range(1, decoding.max_tokens + 1):
        log_probs = logits.float().log_softmax(1).unflatten(0, (images, -1))
        forced = stops[tokens[:, :, -1]] & ~finished if length > 1 else torch.zeros_like(finished)
        only_end = torch.full_like(log_probs[0, 0], -torch.inf)
        only_end[end] = 0.0
        edited = torch.where((finished | forced)[:, :, None], only_end, log_probs)
        scores, best = (scores[:, :, None] + edited).flatten(1).topk(width)
        parents, chosen = best // logits.shape[1], best % logits.shape[1]
        was_finished = finished.gather(1, parents)
        spent = log_probs.flatten(1).gather(1, best).masked_fill(was_finished, 0.0)
        plain = plain.gather(1, parents) + spent
        lengths = lengths.gather(1, parents) + ~was_finished
        finished = was_finished | (chosen == end)
        rows = torch.arange(images, device=device)[:, None]
        tokens = torch.cat([tokens[rows, parents], chosen[:, :, None]], dim=2)
        if bool(finished.all()) or length == decoding.max_tokens:
            break
        state = captioner.reorder(state, (rows * (len(logits) // images) + parents).flatten())
        logits, state = captioner.step(chosen.flatten(), state)
    longest = int(lengths[:, 0].max())
    return Decoded(tokens[:, 0, :longest], lengths[:, 0], plain[:, 0], scores[:, 0])


def _at(values: Tensor, index: Tensor) -> Tensor:
    """Return values[n, index[n, k]] for all n and k, of shape (n, k) or (n, k, T), from values (n, m) or (n, m, T)."""
    return values[torch.arange(len(values), device=values.device)[:, None], index]
