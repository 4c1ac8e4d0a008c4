"""Decoding on a GPU: the work of a captioner for a token is recorded once and replayed for all later batches.

A step starts some 200 kernels, and Python takes longer to start them than a GPU to compute them (docs/performance.md).
A CUDA graph is a recorded sequence of kernels, which starts at once. It repeats the same computation on the same memory
and the same shapes. So rows of finished captions are computed until all captions are finished, and their results are
ignored. The captioner's start and steps must not depend on values of tensors (`Captioner.replayable`).
"""

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from captionlab.captioners.captioner import Captioner
from captionlab.config.evaluations import Beam, Decoding
from captionlab.regions.tagged_regions import TaggedRegions

Record = Callable[[Callable[[], Any]], tuple[Callable[[], None], Any, int]]
"""Records work without doing it. Returns a function that does the work, the result of the work, which each replay
overwrites, and the number of bytes that the recording holds."""

MOST_HELD = 2**31
"""most bytes that the recordings of a captioner hold together; larger work keeps a GPU busy without being recorded"""


class Replayed:
    """A captioner for decoding that replays a recording."""

    def __init__(self, captioner: Captioner[Any], recording: "Recording"):
        self.captioner, self.recording = captioner, recording
        self.prompt_length = captioner.prompt_length

    def start(self, visual: Any, max_tokens: int) -> tuple[Tensor, "Asked"]:
        """Return the logits (B, vocabulary) of the first token, and a state, as `Captioner.start` does."""
        recording = self.recording
        recording.visual.copy_(visual)
        logits = recording.play(0, lambda state: self.captioner.start(recording.visual, max_tokens))
        return logits, Asked(0, None, recording.copies == 1)

    def step(self, tokens: Tensor, state: "Asked") -> tuple[Tensor, "Asked"]:
        """Return the logits (N, vocabulary) after `tokens` (N,), and the next state, as `Captioner.step` does."""
        recording, number = self.recording, state.steps + 1
        recording.tokens[slice(None) if state.at is None else state.at] = tokens
        logits = recording.play(number, lambda before: self._step(number, before))
        return logits if state.at is None else logits[state.at], Asked(number, state.at, True)

    def _step(self, number: int, state: Any) -> tuple[Tensor, Any]:
        recording = self.recording
        # Rows of the start are copied once. After that, samples stay in place, and beams move at every step.
        if recording.moving or (number == 1 and recording.copies > 1):
            state = self.captioner.reorder(state, recording.parents)
        return self.captioner.step(recording.tokens, state)

    def reorder(self, state: "Asked", index: Tensor) -> "Asked":
        """Return the state of the rows `index` (N,), as `Captioner.reorder` does.

        A row of an image stays in place or replaces another row of the same image.
        """
        recording = self.recording
        if state.at is not None:
            index = state.at[index]
        if state.copied and not recording.moving:
            return Asked(state.steps, index, True)
        # The rows of image n are copies * n to copies * (n + 1) from the first step on. After the start, it has a
        # single row.
        before, after = recording.copies if state.copied else 1, recording.copies
        rows = torch.arange(len(recording.tokens), device=index.device)
        if len(index) == len(rows):
            recording.parents.copy_(index)
            return Asked(state.steps, None, True)
        at = index // before * after + rows[: len(index)] % after
        recording.parents.copy_(rows // after * before)  # finished images keep any of their rows
        recording.parents[at] = index
        return Asked(state.steps, at, True)


@dataclass(frozen=True)
class Asked:
    """The recorded rows that decoding still needs."""

    steps: int
    """steps since the start"""
    at: Tensor | None
    """(N,) positions of the rows in the recording, in order; None if all rows are in place"""
    copied: bool
    """whether each image already has all its rows"""


@dataclass
class Recording:
    """The recorded start and steps of a captioner for images of a certain shape.

    It has as many steps as the longest caption so far.
    """

    visual: Any
    """input of the start"""
    copies: int
    """rows of an image after the start: beams or samples"""
    moving: bool
    """whether rows change places at every step, as beams do"""
    record: Record | None = None
    """records work; None to compute the same rows without a recording"""
    parents: Tensor = field(init=False)
    """(R,) the row that each row continues, if rows are copied or move"""
    tokens: Tensor = field(init=False)
    """(R,) input of a step"""
    parts: list[tuple[Callable[[], None], Tensor]] = field(default_factory=list)
    """functions that replay the start and each step, with their logits"""
    state: Any = None
    """state of the captioner after all parts"""
    logits: dict[int, Tensor] = field(default_factory=dict)
    """logits by number of rows; the start and all steps write to the same memory"""
    held: int = 0
    """bytes that all parts hold"""

    def __post_init__(self) -> None:
        rows = len(self.visual) * self.copies
        self.parents, self.tokens = torch.zeros((2, rows), dtype=torch.long, device=self.visual.device)

    def play(self, number: int, work: Callable[[Any], tuple[Tensor, Any]]) -> Tensor:
        """Replay the start (number 0) or a step and return its logits. A new step is recorded first.

        `work` computes the logits and the next state from the state before the step. Nothing is recorded if `record` is
        None.
        """
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
            # The state is incomplete, so everything must be recorded again.
            self.parts, self.state, self.logits, self.held = [], None, {}, 0
            raise
        self.parts.append((replay, logits))
        self.held += held

    def _shared(self, logits: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Return the logits in memory that all steps with as many rows share, and the state.

        Logits are the largest result of a step.
        """
        shared = self.logits.setdefault(len(logits), logits)
        return shared if shared is logits else shared.copy_(logits), state


@dataclass
class Recordings:
    """All recordings of a captioner, by the settings that they depend on."""

    seen: set[Hashable] = field(default_factory=set)
    """keys of earlier batches; a single batch is not worth a recording"""
    kept: dict[Hashable, Recording] = field(default_factory=dict)
    """recordings by key, the least recently used first"""
    refused: set[Hashable] = field(default_factory=set)
    """keys of recordings that were dropped; recording them again and again would take longer than not recording"""

    def find(self, key: Hashable, make: Callable[[], Recording]) -> Recording | None:
        """Return the recording for a key, or None if there is none.

        The first request for a key only notes it. The second request makes the recording. A recording that was dropped
        is never made again.
        """
        self._let_go()
        if key in self.refused or key not in self.seen:
            self.seen.add(key)
            return None
        recording = self.kept.pop(key) if key in self.kept else make()
        self.kept[key] = recording
        return recording

    def _let_go(self) -> None:
        """Drop recordings above MOST_HELD bytes, then the least recently used until the sum is within MOST_HELD."""
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
    """Return the captioner or, on a GPU, a captioner that replays its start and steps.

    A captioner with adapters is not replayed. A recording is not used if the weights have been moved since, because it
    reads them at their old addresses. In training mode, the same rows are computed with and without a recording. So
    dropout draws the same numbers, and a training that continues from a checkpoint is not changed.
    """
    if not isinstance(visual, Tensor | TaggedRegions) or visual.device.type != "cuda":
        return captioner
    if not captioner.replayable or captioner.adapters is not None:
        return captioner
    moving = isinstance(decoding, Beam)
    copies = decoding.rows_per_image
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
    """Return a function that records CUDA graphs.

    The graphs share memory, so they must be replayed in the order of recording.
    """
    pool, stream = torch.cuda.graph_pool_handle(), torch.cuda.Stream()

    def record(work: Callable[[], Any]) -> tuple[Callable[[], None], Any, int]:
        graph, before = torch.cuda.CUDAGraph(), torch.cuda.memory_allocated()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), _same_precision():
            # torch.cuda.graph would collect garbage and return memory to the device each time.
            graph.capture_begin(pool=pool, capture_error_mode="thread_local")
            try:
                made = work()
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(stream)
        return graph.replay, made, torch.cuda.memory_allocated() - before

    return record


def _same_precision() -> AbstractContextManager[Any]:
    """Return the current autocasting without its cache, which would be gone when a recording is replayed."""
    kind = torch.get_autocast_dtype("cuda")
    return torch.autocast("cuda", kind, torch.is_autocast_enabled("cuda"), cache_enabled=False)
