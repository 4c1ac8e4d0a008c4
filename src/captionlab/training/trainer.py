"""The one trainer: precision, accumulation, clipping, schedule, log, checkpoint and resume for any objective."""

import logging
import math
import os
import random
import signal
import threading
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
import torch

from captionlab.progress import progress
from captionlab.tables import TRAINING, write_table
from captionlab.training.checkpoints import Checkpoints
from captionlab.training.optimizers import Adam, build_optimizer, learning_rate, total_steps

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 10.0


class TrainingError(RuntimeError):
    """A training that cannot go on."""


class Objective(Protocol):
    """What a captioner, encoder or scorer is trained to do."""

    def loss(self, model: Any, batch: Any) -> tuple[torch.Tensor, dict[str, Any]]:
        """The scalar loss of a batch, or of a part of it, with its gradient; and scalars for the log, by name."""

    def end_batch(self) -> None:
        """All parts of the batch were seen, and their gradients are known."""

    def state_dict(self) -> dict[str, Any]:
        """What is kept from batch to batch: tensors and plain values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""


class Batches(Protocol):
    """Where batches come from. With `accumulate`, a batch also has `split(parts)`, and each part a `weight`."""

    def __len__(self) -> int:
        """Number of batches in an epoch."""

    def __getitem__(self, step: int) -> Any:
        """Batch number `step`, from 0 over all epochs: a function of nothing but the step and a seed."""


class Log:
    """The rows of the training log, compact enough to travel with each checkpoint."""

    def __init__(self) -> None:
        self.steps, self.epochs, self.values = array("q"), array("q"), array("d")
        self.statistics: list[str] = []

    def add(self, step: int, epoch: int, statistics: dict[str, float]) -> None:
        """Add the statistics of an update."""
        for name, value in statistics.items():
            self.steps.append(step)
            self.epochs.append(epoch)
            self.statistics.append(name)
            self.values.append(value)

    def state_dict(self) -> dict[str, Any]:
        """The rows, as tensors and a list of names."""
        return {
            "steps": torch.tensor(self.steps, dtype=torch.int64),
            "epochs": torch.tensor(self.epochs, dtype=torch.int64),
            "values": torch.tensor(self.values, dtype=torch.float64),
            "statistics": self.statistics,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the rows of a saved log."""
        self.steps, self.epochs = array("q", state["steps"].tolist()), array("q", state["epochs"].tolist())
        self.values, self.statistics = array("d", state["values"].tolist()), list(state["statistics"])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the log as a table."""
        rows = {"step": self.steps, "epoch": self.epochs, "statistic": self.statistics, "value": self.values}
        write_table(path, TRAINING, rows)


def train(
    model: torch.nn.Module,
    objective: Objective,
    batches: Batches,
    optimizer: dict[str, Any],
    *,
    seed: int,
    log_path: str | os.PathLike[str],
    state_directory: str | os.PathLike[str],
    fingerprint: str,
    device: str,
    checkpoint_seconds: float = 300.0,
    checkpoint_steps: int | None = None,
) -> None:
    """Train `model` in place, on the device where its parameters and the batches are, and write the log.

    `optimizer` is that block of the config: kind, lr, betas, weight_decay, epochs or steps, schedule, warmup,
    clip_norm, clip_value, accumulate, precision. Checkpoints go to `state_directory`, and training goes on from the
    newest one of the same `fingerprint` there; on the CPU it then ends with the same bytes as without the interruption.
    The caller deletes the directory (checkpoints.remove) when the outputs are in their places.

    SIGTERM or SIGINT: the update is finished, a checkpoint written, and SystemExit raised with 128 + the signal.
    A loss or gradient that is not finite: TrainingError, and nothing is written.
    """
    if device == "cpu":
        # Costs nothing there. torch.use_deterministic_algorithms says the same and imports torch's compiler.
        torch.set_deterministic_debug_mode("error")
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 (whatever an objective draws from is seeded)
    torch.manual_seed(seed)
    steps = total_steps(optimizer, len(batches))
    stepper = build_optimizer(model.parameters(), optimizer)
    log = Log()
    checkpoints = Checkpoints(state_directory, fingerprint, checkpoint_seconds, checkpoint_steps)
    saved: dict[str, Any] = {"model": model, "optimizer": stepper, "objective": objective, "log": log}
    if first := _restore(checkpoints.newest(), saved):
        logger.info("Going on from the checkpoint of step %d of %d.", first, steps)
    model.train()
    last_line = time.monotonic()
    with _stop_requests() as stop:
        for step in progress(range(first, steps), what="updates", total=steps - first):
            lr = learning_rate(optimizer, step, steps)
            statistics = _gradients(model, objective, stepper, batches[step], optimizer, device)
            done = step + 1
            _check_finite(statistics, done)
            stepper.step(lr)
            log.add(done, step // len(batches), {**statistics, "learning_rate": lr})
            if time.monotonic() - last_line > SECONDS_BETWEEN_LINES or done == steps:
                last_line = time.monotonic()
                logger.info("update %d of %d: %s", done, steps, _in_words(statistics))
            if done < steps and (stop or checkpoints.due(done)):
                states = {name: owner.state_dict() for name, owner in saved.items()}
                checkpoints.save(done, {"step": done, "random": _random_state(), **states})
                if stop:
                    name = signal.Signals(stop[0]).name
                    logger.warning("Stopped by %s after update %d of %d; run again to go on.", name, done, steps)
                    raise SystemExit(128 + stop[0])
    log.write(log_path)


def _gradients(
    model: torch.nn.Module, objective: Objective, stepper: Adam, batch: Any, config: dict[str, Any], device: str
) -> dict[str, float]:
    """Give the parameters their clipped gradients for a batch; returns its statistics."""
    accumulate = int(config.get("accumulate", 1))
    parts = batch.split(accumulate) if accumulate > 1 else [batch]
    # A part counts by its weight, so that the sum of the parts' losses is the loss of the whole batch.
    weights = [part.weight for part in parts] if accumulate > 1 else [1.0]
    half = config.get("precision", "float32") == "bfloat16"
    stepper.zero_grad()
    sums: dict[str, torch.Tensor] = {}
    for part, weight in zip(parts, weights, strict=True):
        share = weight / sum(weights)
        with torch.autocast(torch.device(device).type, torch.bfloat16, enabled=half):
            loss, statistics = objective.loss(model, part)
        (loss * share).backward()
        for name, value in {"loss": loss, **statistics}.items():
            number = torch.as_tensor(value, device=loss.device).detach() * share
            sums[name] = sums[name] + number if name in sums else number
    objective.end_batch()
    norm = sums["gradient_norm"] = torch.nn.utils.get_total_norm(stepper.gradients)
    if clip_norm := config.get("clip_norm"):
        torch.nn.utils.clip_grads_with_norm_(stepper.parameters, clip_norm, norm)
    if clip_value := config.get("clip_value"):
        torch.nn.utils.clip_grad_value_(stepper.parameters, clip_value)
    # One transfer from the device for all numbers.
    return dict(zip(sums, torch.stack([value.double() for value in sums.values()]).tolist(), strict=True))


def _check_finite(statistics: dict[str, float], step: int) -> None:
    if not math.isfinite(statistics["loss"]) or not math.isfinite(statistics["gradient_norm"]):
        raise TrainingError(
            f"The loss of update {step} is not finite, so training stops and nothing is written; its statistics: "
            f"{_in_words(statistics)}. A smaller optimizer.lr or a clip_norm may help."
        )


def _in_words(statistics: dict[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in statistics.items())


def _random_state() -> dict[str, Any]:
    """The states of all random number generators that an objective may draw from, as tensors and plain values."""
    kind, keys, *rest = np.random.get_state(legacy=True)  # noqa: NPY002
    return {
        "python": random.getstate(),
        "numpy": [kind, np.asarray(keys).tolist(), *rest],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _restore(state: dict[str, Any] | None, saved: dict[str, Any]) -> int:
    """Give everything the state that it had in a checkpoint; the number of updates done, 0 without a checkpoint."""
    if state is None:
        return 0
    for name, owner in saved.items():
        owner.load_state_dict(state[name])
    generators = state["random"]
    random.setstate(generators["python"])
    np.random.set_state(tuple(generators["numpy"]))  # noqa: NPY002
    torch.set_rng_state(generators["torch"])
    if len(generators["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(generators["cuda"])
    return int(state["step"])


@contextmanager
def _stop_requests() -> Iterator[list[int]]:
    """The signals that asked the training to stop, as they come; only a main thread receives any."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    previous = {
        number: signal.signal(number, lambda number, frame: received.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
