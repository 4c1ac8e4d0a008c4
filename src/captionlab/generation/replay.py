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

Record = Callable[[Callable[[], Any]], tuple[Callable[[], None], Any, int]]
"""Records work without doing it; gives what does it, what the work made, which is then written anew each time, and how
many bytes that holds."""

MOST_HELD = 2**31
"""bytes that the recordings of a captioner hold together; what is larger keeps a GPU busy without being recorded"""


class Replayed:
    """What decoding asks of a captioner, by replaying a recording."""

    def __init__(self, captioner: Captioner[Any], recording: "Recording"):
        self.captioner, self.recording = captioner, recording
        self.prompt_length = captioner.prompt_length

    def start(self, visual: Any, max_tokens: int) -> tuple[Tensor, "Asked"]:
        """As `Captioner.start`: logits (B, vocabulary), and a state."""
        recording = self.recording
        recording.visual.copy_(visual)
        logits = recording.play(0, lambda state: self.captioner.start(recording.visual, max_tokens))
        return logits, Asked(0, None, recording.copies == 1)

    def step(self, tokens: Tensor, state: "Asked") -> tuple[Tensor, "Asked"]:
        """As `Captioner.step`: logits (N, vocabulary) after `tokens` (N,), and the next state."""
        recording, number = self.recording, state.steps + 1
        recording.tokens[slice(None) if state.at is None else state.at] = tokens
        logits = recording.play(number, lambda before: self._step(number, before))
        return logits if state.at is None else logits[state.at], Asked(number, state.at, True)

    def _step(self, number: int, state: Any) -> tuple[Tensor, Any]:
        recording = self.recording
        # Rows of the start are copied once. After that samples stay where they are, and beams change at every step.
        if recording.moving or (number == 1 and recording.copies > 1):
            state = self.captioner.reorder(state, recording.parents)
        return self.captioner.step(recording.tokens, state)

    def reorder(self, state: "Asked", index: Tensor) -> "Asked":
        """As `Captioner.reorder`; a row of an image takes the place of another of that image, or stays where it is."""
        recording = self.recording
        if state.at is not None:
            index = state.at[index]
        if state.copied and not recording.moving:
            return Asked(state.steps, index, True)
        # An image has the places copies * n to copies * (n + 1) from the first step on, and one after the start.
        before, after = recording.copies if state.copied else 1, recording.copies
        rows = torch.arange(len(recording.tokens), device=index.device)
        if len(index) == len(rows):
            recording.parents.copy_(index)
            return Asked(state.steps, None, True)
        at = index // before * after + rows[: len(index)] % after
        recording.parents.copy_(rows // after * before)  # of images that nobody asks for: any row of theirs
        recording.parents[at] = index
        return Asked(state.steps, at, True)


@dataclass(frozen=True)
class Asked:
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
    """None computes the same rows and records nothing"""
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
    held: int = 0
    """bytes that all of it holds"""

    def __post_init__(self) -> None:
        rows = len(self.visual) * self.copies
        self.parents, self.tokens = torch.zeros((2, rows), dtype=torch.long, device=self.visual.device)

    def play(self, number: int, work: Callable[[Any], tuple[Tensor, Any]]) -> Tensor:
        """Replay a part, or record it and replay it: `work` is that of the captioner after the state before it."""
        if self.record is None:
            logits, self.state = work(self.state)
            return logits
        if number == len(self.parts):
            self._record(self.record, work)
        replay, logits = self.parts[number]
        replay()
        return logits

    def _record(self, record: Record, work: Callable[[Any], tuple[Tensor, Any]]) -> None:
        try:
            replay, (logits, self.state), held = record(lambda: self._shared(*work(self.state)))
        except BaseException:
            # The state is between two steps: all is to be recorded again.
            self.parts, self.state, self.logits, self.held = [], None, {}, 0
            raise
        self.parts.append((replay, logits))
        self.held += held

    def _shared(self, logits: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The same, where the logits of other parts are: those of a vocabulary are the largest result."""
        shared = self.logits.setdefault(len(logits), logits)
        return shared if shared is logits else shared.copy_(logits), state


@dataclass
class Recordings:
    """Those of a captioner, by what they depend on."""

    seen: set[Hashable] = field(default_factory=set)
    """of which there was a batch: a single one is not worth a recording"""
    kept: dict[Hashable, Recording] = field(default_factory=dict)
    """the one that was used last is the last"""
    refused: set[Hashable] = field(default_factory=set)
    """what was dropped: recorded again in turn with others, it would take longer than without"""

    def find(self, key: Hashable, make: Callable[[], Recording]) -> Recording | None:
        """The recording for a key, from the second time on that it is asked for; None where there shall be none."""
        self._let_go()
        if key in self.refused or key not in self.seen:
            self.seen.add(key)
            return None
        recording = self.kept.pop(key) if key in self.kept else make()
        self.kept[key] = recording
        return recording

    def _let_go(self) -> None:
        """Drop what holds too much, and then what was used longest ago while all together does."""
        large = [key for key, recording in self.kept.items() if recording.held > MOST_HELD]
        for key in large:
            del self.kept[key]
        self.refused.update(large)
        while sum(recording.held for recording in self.kept.values()) > MOST_HELD:
            oldest = next(iter(self.kept))
            del self.kept[oldest]
            self.refused.add(oldest)


_recordings: WeakKeyDictionary[Captioner[Any], Recordings] = WeakKeyDictionary()


def replayed(captioner: Captioner[Any], visual: Any, decoding: Decoding) -> Any:
    """The captioner, or on a GPU what replays it.

    What was recorded is not used where weights lie elsewhere since then, for it reads them where they were. A training
    drops units of the same rows, replayed or not, so that it goes on from a checkpoint as it would have.
    """
    if not isinstance(visual, Tensor | TaggedRegions) or visual.device.type != "cuda":
        return captioner
    if not captioner.replayable or captioner.adapters is not None:
        return captioner
    moving = decoding.kind == "beam"
    copies = decoding.beams if moving else decoding.samples
    key = (
        visual.shape, visual.dtype, decoding.max_tokens, moving, copies, captioner.training,
        torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"), torch.get_float32_matmul_precision(),
        *(tensor.data_ptr() for tensor in (*captioner.parameters(), *captioner.buffers())),
    )  # fmt: skip
    recording = _recordings.setdefault(captioner, Recordings()).find(
        key, lambda: Recording(visual.clone(), copies, moving, cuda_graph())
    )
    if recording is None and not captioner.training:
        return captioner
    return Replayed(captioner, recording or Recording(visual, copies, moving))


def cuda_graph() -> Record:
    """What records CUDA graphs that share their memory, as those do that are replayed in the order of recording."""
    pool, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()

    def record(work: Callable[[], Any]) -> tuple[Callable[[], None], Any, int]:
        graph, before = torch.cuda.CUDAGraph(), torch.cuda.memory_allocated()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), _same_precision():
            # Not torch.cuda.graph, which collects garbage and returns memory to the device each time.
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                made = work()
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        return graph.replay, made, torch.cuda.memory_allocated() - before

    return record


def _same_precision() -> AbstractContextManager[Any]:
    """The autocasting that is on, if any, without its cache: what that holds is gone when a recording is replayed."""
    kind = torch.get_autocast_dtype("cuda")
    return torch.autocast("cuda", kind, torch.is_autocast_enabled("cuda"), cache_enabled=False)
