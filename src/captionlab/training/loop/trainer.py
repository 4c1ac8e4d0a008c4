"""The trainer of all objectives: precision, accumulation, clipping, schedule, log, checkpoints and resuming.

A batch is computed as a whole or in parts: as many as `optimizer.accumulate` says, and at least one for each process.
Random draws of an objective for a part depend only on seed, step and part. So no random state has to be saved, and the
same parts give the same training, whichever process computes them.
"""

import logging
import math
import os
import random
import signal
import threading
import time
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from captionlab.jobs.processes import add_up, is_first, largest, one_after_another, processes, share, wait_for_all
from captionlab.jobs.progress import progress
from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import write_table
from captionlab.tracking.tracker import NOBODY, Tracker
from captionlab.tracking.updates import Update
from captionlab.training.loop.batches import Batches
from captionlab.training.loop.checkpoints import Changing, Checkpoints, Resumable
from captionlab.training.loop.examples import Examples
from captionlab.training.loop.optimizers import build_optimizer, learning_rate, take_step, trainable

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 10.0


class Objective(Resumable):
    """Base class of training objectives of captioners, encoders and scorers.

    An objective that keeps nothing between batches needs only `loss`.
    """

    def loss(self, model: Any, batch: Any) -> tuple[torch.Tensor, dict[str, Any]]:
        """Return the scalar loss of a batch or a part, with gradient, and scalars for the log, by name."""
        raise NotImplementedError(f"{type(self).__name__} has no loss")

    def end_batch(self) -> None:
        """Handle the end of a batch: the trainer has computed the gradients of all its parts."""

    def earned(self, batch: Any, captions: Sequence[str]) -> list[float | None]:
        """Return the reward of each caption of a batch's images, or None where captions earn nothing."""
        return [None] * len(captions)


class Validation(Resumable):
    """Validation of a training, which keeps the best weights so far by a score of the model."""

    kept = ("best", "step", "weights", "examples")

    def __init__(
        self,
        score: Callable[[Any], float],
        every: int,
        name: str,
        select: bool = True,
        examples: Examples | None = None,
    ):
        """Score the model every `every` updates, and log the score under `validation_` and `name`.

        The weights with the largest score are kept, the first weights of equal scores. Without `select`, scores are
        logged and the weights of the last update are kept. The score must not draw random numbers, because a training
        that resumes from a checkpoint would draw others. `examples` are recorded at each score.
        """
        self.score, self.every, self.name, self.select = score, every, f"validation_{name}", select
        self.examples = examples or Examples()
        self.best, self.step = float("-inf"), 0
        self.weights: dict[str, torch.Tensor] = {}

    def check(self, steps: int, snapshots: Collection[int]) -> None:
        """Raise ValueError if no validation is due within `steps` updates.

        If weights are selected, a validation must also be due by the first snapshot.
        """
        if steps < (every := self.every):
            raise ValueError(f"validation.every is {every} and there are {steps} updates; set it to {steps} or less")
        if self.select and (first := min(snapshots, default=every)) < every:
            raise ValueError(
                f"validation.every is {every} and the first snapshot is taken after {first} updates, when no weights "
                f"are selected yet; set it to {first} or less"
            )

    def after(self, model: Any, done: int) -> dict[str, float]:
        """Return the score for the log after `done` updates, or nothing if no validation is due.

        If the score is the best so far, the weights are kept; the weights before the first update are never kept.
        """
        if done % self.every:
            return {}
        training = model.training
        with torch.no_grad():
            score = self.score(model.eval())
            self.examples.look(model, done)
        model.train(training)
        if done and self.select and score > self.best:
            self.best, self.step = score, done
            self.weights = {name: value.clone() for name, value in Changing(model).state_dict().items()}
        return {self.name: score}


class Log:
    """Rows of the training log, compact enough to be saved in each checkpoint."""

    def __init__(self, steps: int) -> None:
        self.numbers: dict[str, array[Any]] = {"steps": array("q"), "epochs": array("q"), "values": array("d")}
        self.statistics: list[str] = []
        self._of, self._said = steps, time.monotonic()

    def add(self, step: int, epoch: int, statistics: dict[str, float]) -> None:
        """Add the statistics of an update. At intervals, and after the last update, log a line."""
        self.numbers["steps"].extend([step] * len(statistics))
        self.numbers["epochs"].extend([epoch] * len(statistics))
        self.numbers["values"].extend(statistics.values())
        self.statistics += statistics
        if time.monotonic() - self._said > SECONDS_BETWEEN_LINES or step == self._of:
            self._said = time.monotonic()
            logger.info("update %d of %d: %s", step, self._of, _in_words(statistics))

    def updates(self) -> dict[int, dict[str, float]]:
        """Return the statistics of each update so far, by step."""
        found: dict[int, dict[str, float]] = {}
        for step, name, value in zip(self.numbers["steps"], self.statistics, self.numbers["values"], strict=True):
            found.setdefault(step, {})[name] = value
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return the rows, as tensors and a list of names."""
        numbers = {name: torch.from_numpy(np.array(column)) for name, column in self.numbers.items()}
        return {**numbers, "statistics": self.statistics}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the rows with the rows of a saved log."""
        self.numbers = {name: array(old.typecode, state[name].tolist()) for name, old in self.numbers.items()}
        self.statistics = list(state["statistics"])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the log as a table."""
        steps, epochs, values = self.numbers.values()
        write_table(path, TRAINING, {"step": steps, "epoch": epochs, "statistic": self.statistics, "value": values})


@dataclass(frozen=True)
class Snapshot:
    """Weights with which a training would end if it stopped after `updates` updates."""

    number: int  # epochs or updates, as in the config
    updates: int
    weights: Callable[[], dict[str, torch.Tensor]]  # returns the weights that the training changes


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
    snapshots: Sequence[int] = (),
    validation: Validation | None = None,
    tracker: Tracker = NOBODY,
) -> list[Snapshot]:
    """Train `model` in place, on the device of its parameters and batches, write the log, and return the snapshots.

    The model ends with the weights that `validation` selected, or with the last weights. Training resumes from the
    newest checkpoint in `state_directory` with the same `fingerprint`, on the CPU with the same bytes at the end. The
    caller deletes the directory. Every process calls this function with the same arguments; the first process writes.
    On SIGTERM or SIGINT, a checkpoint is written, and SystemExit is raised with 128 + the signal. Raises
    FloatingPointError, and writes nothing, if a loss or gradient is not finite. Raises ValueError if warmup or
    validation do not fit the number of updates, or if a batch cannot be cut into its parts.
    """
    _set_up_arithmetic(device, optimizer.get("precision") == "tf32")
    per_epoch, steps = len(batches), _updates(optimizer, len(batches))
    taken = {number * (1 if "steps" in optimizer else per_epoch): number for number in snapshots}
    parameters, stepper = trainable(model.parameters()), build_optimizer(model.parameters(), optimizer)
    log = Log(steps)
    saved: dict[str, Any] = {"model": Changing(model), "optimizer": stepper, "objective": objective, "log": log}
    if validation:
        validation.check(steps, taken)
        saved["validation"] = validation
    with one_after_another():
        checkpoints = Checkpoints(state_directory, fingerprint, checkpoint_seconds, checkpoint_steps, [*taken])
        first = _restore(checkpoints.newest(), saved, steps)
    if validation and not first:
        log.add(0, 0, validation.after(model, 0))
    model.train()
    with stop_requests() as stop, tracker.following(_history(log, validation)):
        for step in progress(range(first, steps), what="updates", total=steps - first):
            lr = learning_rate(optimizer, step, steps, per_epoch)
            statistics = _gradients(model, objective, parameters, batches[step], optimizer, (seed, step))
            done = step + 1
            take_step(stepper, lr)
            statistics |= {**(validation.after(model, done) if validation else {}), "learning_rate": lr}
            log.add(done, step // per_epoch, statistics)
            tracker.add(_update(done, statistics, validation))
            stopped_by = largest(stop[0] if stop else 0, device)
            if done < steps and is_first():
                _save(checkpoints, saved, done, stops=bool(stopped_by))
            if done < steps and stopped_by:
                _stop(stopped_by, done, steps)
    if validation and validation.select:
        saved["model"].load_state_dict(validation.weights)
    if is_first():
        log.write(log_path)
    return [Snapshot(number, done, partial(checkpoints.snapshot, done)) for done, number in taken.items()]


def _updates(optimizer: Mapping[str, Any], per_epoch: int) -> int:
    """Return the number of updates of a training. Raises ValueError if the warmup is longer."""
    steps = int(optimizer["steps"]) if "steps" in optimizer else int(optimizer["epochs"]) * per_epoch
    if (warmup := int(optimizer.get("warmup", 0))) > steps:
        raise ValueError(f"optimizer.warmup is {warmup} and there are {steps} updates; set it to {steps} or less")
    return steps


def _restore(state: Mapping[str, Any] | None, saved: Mapping[str, Any], steps: int) -> int:
    """Restore all objects from a checkpoint, if there is one, and return the number of updates done."""
    if state is None:
        return 0
    for name, owner in saved.items():
        owner.load_state_dict(state[name])
    logger.info("Going on from the checkpoint of step %d of %d.", state["step"], steps)
    return int(state["step"])


def _save(checkpoints: Checkpoints, saved: Mapping[str, Any], done: int, stops: bool) -> None:
    """Write the snapshot after `done` updates, if one is requested, and a checkpoint, if one is due or training stops.

    A snapshot has the weights that the training would end with: the weights that the validation selected, if it selects
    any.
    """
    if done in checkpoints.snapshots:
        selects = "validation" in saved and saved["validation"].select
        checkpoints.save_snapshot(done, saved["validation"].weights if selects else saved["model"].state_dict())
    if stops or checkpoints.due(done):
        checkpoints.save(done, {"step": done, **{name: owner.state_dict() for name, owner in saved.items()}})


def _update(done: int, statistics: Mapping[str, float], validation: Validation | None) -> Update:
    """Return an update as trackers show it."""
    return Update(done, statistics, validation.examples.at(done) if validation else ())


def _history(log: Log, validation: Validation | None) -> list[Update]:
    """Return all updates so far as trackers show them."""
    return [_update(done, statistics, validation) for done, statistics in log.updates().items()]


def _stop(number: int, done: int, steps: int) -> None:
    """Raise SystemExit for a signal, once all processes have arrived."""
    wait_for_all()
    logger.warning("Stopped by %s after update %d of %d; run again to go on.", signal.Signals(number).name, done, steps)
    raise SystemExit(128 + number)


def _set_up_arithmetic(device: str, tf32: bool) -> None:
    if device == "cpu":
        torch.use_deterministic_algorithms(True)
    else:
        torch.set_float32_matmul_precision("high" if tf32 else "highest")


def _gradients(
    model: Any,
    objective: Objective,
    parameters: Sequence[torch.nn.Parameter],
    batch: Any,
    config: dict[str, Any],
    place: tuple[int, int],
) -> dict[str, float]:
    """Compute the gradients of a batch, clip them, and return the statistics of the update.

    The parameters must have no gradients yet. `place` is the seed and the step. Each process computes its share of the
    batch; gradients and statistics refer to the whole batch. Raises FloatingPointError if the loss or the gradient is
    not finite, and ValueError if the batch cannot be cut into its parts.
    """
    count = max(int(config.get("accumulate", 1)), processes())
    parts = batch.split(count) if count > 1 else [batch]
    # Each part is weighted, so that the sum of the parts' losses is the loss of the whole batch.
    weights = [part.weight for part in parts] if count > 1 else [1.0]
    if min(weights) == 0:
        raise ValueError(f"a batch cannot be cut into {count} parts; set optimizer.batch to {count} or more")
    half = config.get("precision", "float32") == "bfloat16"
    sums: dict[str, torch.Tensor] = {}
    for number in share(range(count)):
        fraction = weights[number] / sum(weights)
        # Seed every generator of random numbers that an objective may use.
        high, low = np.random.SeedSequence((*place, number)).generate_state(2)
        random.seed(int(low))
        np.random.seed(low)  # noqa: NPY002
        torch.manual_seed(int(high) << 32 | int(low))
        with torch.autocast(parameters[0].device.type, torch.bfloat16, enabled=half):
            loss, statistics = objective.loss(model, parts[number])
        (loss * fraction).backward()
        for name, value in {"loss": loss, **statistics}.items():
            term = torch.as_tensor(value, device=loss.device).detach().double() * fraction
            sums[name] = sums[name] + term if name in sums else term
    objective.end_batch()
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    add_up([*gradients, *sums.values()])
    norm = torch.nn.utils.get_total_norm(gradients)
    sums["gradient_norm"] = norm.double()
    if clip_norm := config.get("clip_norm"):
        torch.nn.utils.clip_grads_with_norm_(parameters, clip_norm, norm)
    if clip_value := config.get("clip_value"):
        torch.nn.utils.clip_grad_value_(parameters, clip_value)
    # All numbers are transferred from the device at once.
    statistics = dict(zip(sums, torch.stack(list(sums.values())).tolist(), strict=True))
    if not math.isfinite(statistics["loss"]) or not math.isfinite(statistics["gradient_norm"]):
        raise FloatingPointError(
            f"The loss of update {place[1] + 1} is not finite, so training stops and nothing is written; its "
            f"statistics: {_in_words(statistics)}. A smaller optimizer.lr or a clip_norm may help."
        )
    return statistics


def _in_words(statistics: dict[str, float]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in statistics.items())


@contextmanager
def stop_requests() -> Iterator[list[int]]:
    """Yield the list of received stop signals, to which new signals are added. Only a main thread receives signals."""
    received: list[int] = []
    signals = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()
    previous = {one: signal.signal(one, lambda number, frame: received.append(number)) for one in signals}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
