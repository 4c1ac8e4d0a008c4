"""Decodings as options of `generate` of transformers, and its output as decoded captions."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from captionlab.captioners.decoded import Decoded
from captionlab.config.evaluations import Beam, Decoding, Sample

# Settings with which samples are drawn from the model itself, whatever its generation_config.json says.
_UNCHANGED = {
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "min_p": 0.0,
    "typical_p": 1.0,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
}


def decoded_captions(output: Any, ends: Sequence[int]) -> Decoded:
    """Return the captions in an output of `generate`, which has logits. They end with one of `ends`.

    Log-probabilities are of the model itself, from its logits before all settings of generation.
    """
    beams = output.get("beam_indices")
    count = len(output.logits) if beams is None else beams.shape[1]
    tokens = output.sequences[:, -count:]
    ended = torch.isin(tokens, torch.tensor(ends, device=tokens.device)).long()
    kept = ended.cumsum(1) - ended == 0
    rows = torch.arange(len(tokens), device=tokens.device)[:, None].expand(-1, count) if beams is None else beams
    log_probs = [
        logits[row.clamp(min=0)].float().log_softmax(-1).gather(1, token[:, None])[:, 0]
        for logits, row, token in zip(output.logits, rows.T, tokens.T, strict=False)
    ]
    log_prob = torch.stack(log_probs, 1).masked_fill(~kept, 0.0).sum(1)
    lengths = kept.sum(1)
    tokens = tokens.masked_fill(~kept, ends[0])[:, : int(lengths.max())]
    return Decoded(tokens, lengths, log_prob, log_prob if beams is None else output.sequences_scores)


def joined(parts: Sequence[Decoded], end: int) -> Decoded:
    """Return the captions of the parts of a batch, padded with the token `end`."""
    length = max(part.tokens.shape[1] for part in parts)
    tokens = [functional.pad(part.tokens, (0, length - part.tokens.shape[1]), value=end) for part in parts]
    columns = zip(*((part.lengths, part.log_prob, part.score) for part in parts), strict=True)
    return Decoded(torch.cat(tokens), *map(torch.cat, columns))


class Stop:
    """A processor of logits for `generate`: after some tokens, the end is forced and does not change the score."""

    def __init__(self, stops: Sequence[int], end: int):
        """`stops` are ids of the tokens after which the token `end` follows."""
        self.stops, self.end, self.prompt_length = torch.tensor(stops, dtype=torch.long), end, -1

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return the scores (N, vocabulary) of the next token after `input_ids` (N, T), prompt included."""
        if self.prompt_length < 0:
            self.prompt_length = input_ids.shape[1]
        if input_ids.shape[1] == self.prompt_length:
            return scores
        forced = torch.isin(input_ids[:, -1], self.stops.to(input_ids.device))
        only_end = torch.full_like(scores[:1], -torch.inf).index_fill(
            1, torch.tensor([self.end], device=scores.device), 0
        )
        return torch.where(forced[:, None], only_end, scores)


def options_of(decoding: Decoding) -> dict[str, Any]:
    """Return the options of `generate` for a decoding."""
    options: dict[str, Any] = {
        "max_new_tokens": decoding.max_tokens,
        "do_sample": isinstance(decoding, Sample),
        "num_beams": decoding.beams if isinstance(decoding, Beam) else 1,
        "num_return_sequences": decoding.captions_per_image,
        "disable_compile": True,  # a static cache, which some models ask for, would be compiled for each shape
    }
    if isinstance(decoding, Sample):
        options |= {**_UNCHANGED, "temperature": decoding.temperature}
        options |= {"top_k": decoding.top_k or 0, "top_p": decoding.top_p or 1.0}
    if isinstance(decoding, Beam):
        options["output_scores"] = True  # without it, `generate` returns no scores of whole captions
        options |= {} if decoding.length_penalty is None else {"length_penalty": decoding.length_penalty}
    if decoding.repetition_penalty is not None:
        options["repetition_penalty"] = decoding.repetition_penalty
    return options


@contextmanager
def seeded(generator: torch.Generator | None, device: torch.device) -> Iterator[None]:
    """Let random numbers of torch depend on `generator` within the block; `generate` takes no generator."""
    if generator is None:
        yield
        return
    seed = int(torch.randint(2**62, (1,), generator=generator, device=generator.device))
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        yield
