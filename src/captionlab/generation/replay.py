"""Decoding on a GPU: what a captioner does for a token is recorded once and replayed for all later batches.

A step starts some 200 kernels, and Python takes longer to start them than a GPU to compute them (docs/performance.md).
A CUDA graph is such a sequence, recorded, which starts at once. It computes the same, from the same memory and for the
same shapes each time. So rows of finished captions are computed further until all are finished, and nobody looks at
them; and the captioner's start and steps must look at no number (`Captioner.replayable`).
"""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from captionlab.captioners.captioner import Captioner
from captionlab.generation.contract import Decoding
from captionlab.regions.tagged_regions import TaggedRegions

Record = Callable[[Callable[[], Any]], tuple[Callable[[], None], Any]]
"""Records work without doing it; gives what does it, and the work's result, which is then written anew each time."""

MOST_RECORDINGS = 4  # of a captioner: training and validation have a shape each, and both a last batch


class Replayed:
    """What decoding asks of a captioner, by replaying a recording."""

    def __init__(self, captioner: Captioner[Any], recording: "Recording"):
        self.captioner, self.recording = captioner, recording
        self.prompt_length = captioner.prompt_length

    def start(self, visual: Any, max_tokens: int) -> tuple[Tensor, "Rows"]:
        """As `Captioner.start`."""
        recording = self.recording
        recording.visual.copy_(visual)
        logits = recording.play(0, lambda state: self.captioner.start(recording.visual, max_tokens))
        return logits, Rows(0, None, recording.copies == 1)

    def step(self, tokens: Tensor, state: "Rows") -> tuple[Tensor, "Rows"]:
        """As `Captioner.step`."""
        recording, number = self.recording, state.steps + 1
        recording.tokens[slice(None) if state.at is None else state.at] = tokens
        logits = recording.play(number, lambda before: self._step(before, reordered=number == 1 or recording.moving))
        return logits if state.at is None else logits[state.at], Rows(number, state.at, True)

    def _step(self, state: Any, reordered: bool) -> tuple[Tensor, Any]:
        if reordered and self.recording.copies > 1:
            state = self.captioner.reorder(state, self.recording.parents)
        return self.captioner.step(self.recording.tokens, state)

    def reorder(self, state: "Rows", index: Tensor) -> "Rows":
        """As `Captioner.reorder`; a row of an image takes the place of another of that image, or stays where it is."""
        recording = self.recording
        if state.at is not None:
            index = state.at[index]
        if state.copied and not recording.moving:
            return Rows(state.steps, index, True)
        before = recording.copies if state.copied else 1  # rows of an image
        rows = torch.arange(len(recording.tokens), device=index.device)
        if len(index) == len(rows):
            recording.parents.copy_(index)
            return Rows(state.steps, None, True)
        at = index // before * recording.copies + rows[: len(index)] % recording.copies
        recording.parents.copy_(rows // recording.copies * before)
        recording.parents[at] = index
        return Rows(state.steps, at, True)


@dataclass(frozen=True)
class Rows:
    """Which of the recorded rows decoding still asks for."""

    steps: int
    """done since the start"""
    at: Tensor | None
    """(N,) where the rows are, in their order; None for all in place"""
    copied: bool
    """whether there are already as many rows of an image as there will be"""


@dataclass
class Recording:
    """The start and the steps of a captioner for images of one shape, as many steps as a caption needed so far."""

    visual: Any
    """what the start reads"""
    copies: int
    """rows of an image after the start: beams, or samples"""
    moving: bool
    """whether rows take each other's places at every step: those of beams do"""
    record: Record | None = None
    """None for the first batch of a shape: it is computed in the same way, and nothing is recorded for it alone"""
    parents: Tensor = field(init=False)
    """(R,) the row that each goes on from, where rows are copied or move"""
    tokens: Tensor = field(init=False)
    """(R,) what a step reads"""
    parts: list[tuple[Callable[[], None], Tensor]] = field(default_factory=list)
    """what replays the start and each step, and its logits"""
    state: Any = None
    """the captioner's, after all of them"""
    logits: dict[int, Tensor] = field(default_factory=dict)
    """by their number of rows: the start and all steps write to the same"""

    def __post_init__(self) -> None:
        rows = len(self.visual) * self.copies
        self.parents, self.tokens = torch.zeros((2, rows), dtype=torch.long, device=self.visual.device)

    def play(self, number: int, work: Callable[[Any], tuple[Tensor, Any]]) -> Tensor:
        """Replay a part, or record it and replay it: `work` is that of the captioner after the state before it."""
        if self.record is None:
            logits, self.state = work(self.state)
            return logits
        if number == len(self.parts):
            replay, (logits, self.state) = self.record(lambda: self._shared(*work(self.state)))
            self.parts.append((replay, logits))
        replay, logits = self.parts[number]
        replay()
        return logits

    def _shared(self, logits: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The same, where the logits of other parts are: those of a vocabulary are the largest result."""
        shared = self.logits.setdefault(len(logits), logits)
        return shared if shared is logits else shared.copy_(logits), state


_recordings: WeakKeyDictionary[Captioner[Any], dict[Hashable, Recording]] = WeakKeyDictionary()


def replayed(captioner: Captioner[Any], visual: Any, decoding: Decoding) -> Any:
    """The captioner, or on a GPU what replays it.

    What was recorded is not used where weights lie elsewhere since then, for it reads them where they were.
    """
    if not isinstance(visual, Tensor | TaggedRegions) or visual.device.type != "cuda":
        return captioner
    if not captioner.replayable or captioner.adapters is not None:
        return captioner
    made = _recordings.setdefault(captioner, {})
    copies = decoding.beams if decoding.kind == "beam" else decoding.samples
    key = (
        visual.shape, visual.dtype, decoding.max_tokens, decoding.kind, copies, captioner.training,
        torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"), torch.get_float32_matmul_precision(),
        *(weights.data_ptr() for weights in captioner.parameters()),
    )  # fmt: skip
    recording = made.pop(key, None)
    if recording is None:
        recording = Recording(visual.clone(), copies, decoding.kind == "beam")
    elif recording.record is None:
        recording.record = cuda_graph()
    made[key] = recording  # as the last, for it was used last
    for old in list(made)[:-MOST_RECORDINGS]:
        del made[old]
    return Replayed(captioner, recording)


def cuda_graph() -> Record:
    """What records CUDA graphs that share their memory, as those do that are replayed in the order of recording."""
    pool, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()

    def record(work: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
        graph = torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), _same_precision():
            # Not torch.cuda.graph, which collects garbage and returns memory to the device each time.
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                made = work()
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        return graph.replay, made

    return record


def _same_precision() -> AbstractContextManager[Any]:
    """The autocasting that is on, if any, without its cache: what that holds is gone when a recording is replayed."""
    kind = torch.get_autocast_dtype("cuda")
    return torch.autocast("cuda", kind, torch.is_autocast_enabled("cuda"), cache_enabled=False)
