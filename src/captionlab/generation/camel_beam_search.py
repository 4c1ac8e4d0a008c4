"""The beam search of Cornia et al. 2020 and CaMEL (github.com/aimagelab/camel, models/beam_search/beam_search.py).

A caption scores the sum of its log-probabilities, whatever its length. Finished captions stay among the beams, so that
the search goes on until all beams of an image are finished.
"""

import torch
from torch import Tensor

from captionlab.captioners.captioner import Captioner, State
from captionlab.generation.contract import Decoded, Decoding


def beam_search(
    captioner: Captioner[State], logits: Tensor, state: State, decoding: Decoding, end: int, stops: Tensor
) -> Decoded:
    """The best caption of each image, by logits (images, vocabulary) of the first token; `stops` force the end."""
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
