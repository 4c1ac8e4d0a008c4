"""Replayed decoding is that of the captioner itself, on a stand-in for CUDA graphs that a processor has.

Graphs themselves are tested where there is a GPU (tests/gpu).
"""

from types import SimpleNamespace

import pytest
import torch
from support.decodings import decoding_of
from support.tiny_captioners import BUILT, END, SIZE, TOKENIZER
from torch.utils._python_dispatch import TorchDispatchMode

from captionlab.generation import replay
from captionlab.generation.decoding import decode, decode_with_gradient
from captionlab.generation.replay import Recording, Replayed

DECODINGS = {
    "greedy": decoding_of("greedy", 7, "."),
    "greedy by oscar": decoding_of("greedy", 7, ".", rules="oscar"),
    "repetition": decoding_of("greedy", 7, ".", repetition_penalty=1.5),
    "sample": decoding_of("sample", 7, ".", temperature=2.0),
    "samples": decoding_of("sample", 7, ".", temperature=2.0, samples=3),
    "beam": decoding_of("beam", 7, ".", beams=3),
    "beam by oscar": decoding_of("beam", 7, ".", beams=3, rules="oscar"),
    "beam of 2022": decoding_of("beam", 7, ".", beams=3, rules="transformers-2022", repetition_penalty=1.5),
    "camel": decoding_of("beam", 7, ".", beams=3, rules="camel"),
}


class Tape(TorchDispatchMode):
    """Keeps each operation with the tensors that it read and made; `play` does them all again, on the same memory."""

    def __init__(self):
        super().__init__()
        self.done = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        # Views, and what is written in place, share the memory of what they are of.
        new = not any(argument.alias_info for argument in func._schema.arguments)
        self.done.append((func, args, kwargs or {}, made if new else None))
        return made

    def play(self):
        for func, args, kwargs, before in self.done:
            now = func(*args, **kwargs)
            if isinstance(before, torch.Tensor):
                before.copy_(now)
            elif isinstance(before, tuple):
                for old, new in zip(before, now, strict=True):
                    if isinstance(old, torch.Tensor):
                        old.copy_(new)


def taped(work):
    """Records like a CUDA graph; what the work made is then of no use until it is played."""
    tape = Tape()
    with tape:
        made = work()
    made[0].fill_(torch.nan)
    return tape.play, made, len(tape.done)


class Vocabulary:
    """Captions end after a third of all tokens, so those of a batch do at different places."""

    end = END

    def stop_ids(self, text):
        return [*range(0, SIZE, 3)]


def captioner_of(family):
    """A captioner whose weights matter, and four batches of four images."""
    torch.manual_seed(0)
    captioner, visual = BUILT[family]()
    for parameter in captioner.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.7)
    return captioner.eval(), [visual, *(BUILT[family]()[1] for _ in range(3))]


def same(one, other):
    assert torch.equal(one.tokens, other.tokens)
    assert torch.equal(one.lengths, other.lengths)
    torch.testing.assert_close(one.log_prob, other.log_prob, rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(one.score, other.score, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("family", BUILT)
@pytest.mark.parametrize("name", DECODINGS)
@torch.no_grad()
def test_captions_are_the_same(family, name):
    decoding = DECODINGS[name]
    captioner, batches = captioner_of(family)
    copies = decoding.beams if decoding.kind == "beam" else decoding.captions_per_image
    recording = Recording(batches[0].clone(), copies, decoding.kind == "beam")
    lengths = set()
    for seed, visual in enumerate(batches):
        recording.record = taped if seed else None
        one, other = (torch.Generator().manual_seed(seed) for _ in range(2))
        found = decode_with_gradient(Replayed(captioner, recording), visual, decoding, Vocabulary(), one)
        same(found, decode(captioner, visual, decoding, Vocabulary(), other))
        lengths |= {*found.lengths.tolist()}
    if family == "clipcap" and name in ("samples", "beam"):
        assert len(lengths) > 2, "captions that end at different places are what is difficult"


@torch.no_grad()
def test_steps_are_recorded_once():
    captioner, (visual, *_) = captioner_of("clipcap")
    recording = Recording(visual.clone(), 1, False, taped)
    steps = []
    captioner.step = lambda tokens, state: steps.append(len(tokens)) or type(captioner).step(captioner, tokens, state)
    for _ in range(3):
        decode_with_gradient(Replayed(captioner, recording), visual, decoding_of("greedy", 7), TOKENIZER)
    assert steps == [4] * 6
    assert len({logits.data_ptr() for _, logits in recording.parts}) == 1


@torch.no_grad()
def test_after_an_error_all_is_recorded_again():
    captioner, (visual, *_) = captioner_of("clipcap")
    recording = Recording(visual.clone(), 1, False, taped)
    greedy, step = decoding_of("greedy", 7), captioner.step

    def decoded():
        return decode_with_gradient(Replayed(captioner, recording), visual, greedy, TOKENIZER)

    def fail(tokens, state):
        step(tokens, state)
        raise MemoryError

    decoded()
    held = recording.held
    recording.parts.pop()
    captioner.step = fail
    with pytest.raises(MemoryError):
        decoded()
    del captioner.step
    same(decoded(), decode(captioner, visual, greedy, TOKENIZER))
    assert recording.held == held


class OnGpu(torch.Tensor):
    device = torch.device("cuda")


def test_what_is_replayed_and_when(monkeypatch):
    """From the second batch of a shape on, as long as the weights stay where they are and not too much is held."""
    captioner, (visual, *_) = captioner_of("clipcap")
    monkeypatch.setattr(replay, "cuda_graph", lambda: "graphs")
    monkeypatch.setattr(replay, "Recording", lambda *of: SimpleNamespace(record=[*of, None][3], held=0))

    def asked(rows=4, decoding=DECODINGS["greedy"]):
        return replay.replayed(captioner, visual[:rows].as_subclass(OnGpu), decoding)

    assert replay.replayed(captioner, visual, DECODINGS["greedy"]) is captioner  # on a processor
    assert asked() is captioner
    first = asked().recording
    assert first.record == "graphs"
    assert asked().recording is first
    assert asked(decoding=DECODINGS["sample"]).recording is first
    assert asked(decoding=DECODINGS["beam"]) is captioner
    assert asked(rows=3) is captioner
    captioner.train()
    assert asked().recording.record is None  # the same rows, so the same units are dropped
    captioner.eval()
    assert asked().recording is first
    second = asked(rows=3).recording
    assert second.record == "graphs"
    first.held = second.held = replay.MOST_HELD // 2 + 1
    assert asked(rows=3).recording is second
    assert asked() is captioner  # used longest ago, and not recorded again
    second.held = replay.MOST_HELD + 1
    assert asked(rows=3) is captioner
    assert asked(rows=3) is captioner
    captioner.gpt.lm_head.weight.data = captioner.gpt.lm_head.weight.data.clone()
    assert asked() is captioner
    captioner.replayable = False
    asked()
    assert asked() is captioner
