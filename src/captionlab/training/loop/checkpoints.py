"""Checkpoints of a training: files that a kill at any moment cannot damage.

They lie in a directory that is no declared output of any rule, because a workflow deletes the outputs of a failed job.
The name of a file holds the fingerprint of its training, its step and a digest of its content. So a training never
resumes from the checkpoint of another training, and a damaged file is detected and the file before it is used.
"""

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.nn import Parameter

from captionlab.jobs.processes import is_first
from captionlab.jobs.provenance import input_digests
from captionlab.jobs.scripting import device, folder_of
from captionlab.storage import paths
from captionlab.storage.files import digest
from captionlab.tracking.tracker import NOBODY, TrackedTraining, Tracker

logger = logging.getLogger(__name__)

# Number of checkpoints that are kept. If a failing disk damages the newest checkpoint, the one before it is used.
KEPT = 2
# Suffixes of the files of checkpoints, and of the weights of snapshots.
STATE, WEIGHTS = ".pt", ".weights"


def fingerprint(params: Mapping[str, Any], digests: Iterable[str]) -> str:
    """Return a digest of everything that determines a training.

    It covers `code`, `versions`, `config` and `seed` of the parameters, and the digests of the inputs.
    """
    parameters = {name: params[name] for name in ("code", "versions", "config", "seed")}
    whole = json.dumps([parameters, list(digests)], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Training:
    """A training of a model as a rule requests it.

    `params` are `code`, `versions`, `config` and `seed`, which determine the training with the inputs of the job.
    `images` are one of these. `weights` and `log` are outputs. `checkpoints` says how often checkpoints are written,
    and `tracking` which program shows the training. Both are read from the config and are no parameters of the rule, so
    a change does not rerun the training.
    """

    rule: str
    params: Mapping[str, Any]
    images: str
    weights: str
    log: str
    checkpoints: Mapping[str, Any] = field(default_factory=dict)
    tracking: str = "none"

    @property
    def state(self) -> str:
        """Return the folder of the checkpoints, results/state/{rule}/{name of the model}."""
        return paths.state(self.rule, folder_of(self.weights).name)

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of `train`: seed, files, fingerprint, device, tracker and snapshots."""
        key = fingerprint(self.params, input_digests().values())
        return {
            "seed": self.params["seed"],
            "log_path": self.log,
            "state_directory": self.state,
            "fingerprint": key,
            "device": device(),
            "tracker": self.tracker(key) if is_first() else NOBODY,
            "snapshots": self.params["config"].get("snapshots", []),
            **{f"checkpoint_{name}": value for name, value in self.checkpoints.items()},
        }

    def tracker(self, fingerprint: str) -> Tracker:
        """Return the tracker that `tracking` names, for the training with a fingerprint."""
        if self.tracking == "none":
            return NOBODY
        name = folder_of(self.weights).name
        run = TrackedTraining(
            rule=self.rule,
            name=name,
            id=hashlib.blake2b(f"{self.rule}/{name}/{fingerprint}".encode(), digest_size=8).hexdigest(),
            config=self.params["config"],
            folder=paths.tracking(self.rule, name),
            images=self.images,
        )
        return Tracker(run, self.tracking)


class Resumable:
    """Base class of objects that are saved in checkpoints and restored from checkpoints.

    The attributes named in `kept` are saved: tensors, plain values, modules, or other resumable objects.
    """

    kept: tuple[str, ...] = ()

    def state_dict(self) -> dict[str, Any]:
        """Return the attributes in `kept` by name, resumable objects as their state."""
        values = {name: _resumable(getattr(self, name)) for name in self.kept}
        return {name: value.state_dict() if isinstance(value, Resumable) else value for name, value in values.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the attributes in `kept` from a saved state."""
        for name in self.kept:
            if isinstance(value := _resumable(getattr(self, name)), Resumable):
                value.load_state_dict(state[name])
            else:
                setattr(self, name, state[name])


class Changing(Resumable):
    """State of a network that a training can change: the parameters that are not frozen, and the buffers."""

    def __init__(self, network: torch.nn.Module):
        self.network = network

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Return the tensors that a training can change, by name."""
        whole = self.network.state_dict(keep_vars=True).items()
        changing = {name: value for name, value in whole if value.requires_grad or not isinstance(value, Parameter)}
        return {name: value.detach() for name, value in changing.items()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Load saved tensors. Raises RuntimeError for a tensor whose name or shape the network does not have."""
        self.network.load_state_dict({**self.network.state_dict(), **state})


def _resumable(value: Any) -> Any:
    return Changing(value) if isinstance(value, torch.nn.Module) else value


class Checkpoints:
    """The checkpoints and snapshots of a training."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        fingerprint: str,
        seconds: float = 300.0,
        steps: int | None = None,
        snapshots: Sequence[int] = (),
    ):
        """Open the directory and delete files of other trainings and unfinished files.

        A checkpoint is due every `seconds` and, if `steps` is set, every `steps` updates. `snapshots` are the steps
        after which the training keeps its weights.
        """
        self.directory, self.seconds, self.steps, self.snapshots = Path(directory), seconds, steps, snapshots
        self.key = hashlib.blake2b(fingerprint.encode(), digest_size=8).hexdigest()
        self.directory.mkdir(parents=True, exist_ok=True)
        for path in self.directory.iterdir():
            if path.suffix not in (STATE, WEIGHTS) or not path.name.startswith(self.key):
                path.unlink()
        self.last = time.monotonic()

    def due(self, step: int) -> bool:
        """Return whether a checkpoint should be written after `step` updates."""
        late = time.monotonic() - self.last >= self.seconds
        return late or (self.steps is not None and step % self.steps == 0)

    def newest(self) -> dict[str, Any] | None:
        """Return the newest intact state, on the CPU, or None if there is none.

        A state counts only if all snapshots up to its step are intact.
        """
        for path in reversed(self._saved(STATE)):
            if self._intact(path) and all(self._taken(step) for step in self.snapshots if step <= _step(path)):
                return _read(path)
        return None

    def save(self, step: int, state: Mapping[str, Any]) -> None:
        """Write the state after `step` updates and delete old checkpoints but the newest KEPT.

        If the file cannot be written, a warning is logged and the training continues.
        """
        try:
            self._write(step, state, STATE)
            for path in self._saved(STATE)[:-KEPT]:
                path.unlink()
        except (OSError, RuntimeError) as error:
            # torch reports a full disk as a RuntimeError.
            logger.warning("The checkpoint of step %d could not be written to %s: %s", step, self.directory, error)
        self.last = time.monotonic()

    def save_snapshot(self, step: int, weights: Mapping[str, torch.Tensor]) -> None:
        """Write the weights after `step` updates, and replace files that an interrupted attempt left."""
        for path in self._saved(WEIGHTS, step):
            path.unlink()
        self._write(step, weights, WEIGHTS)

    def snapshot(self, step: int) -> dict[str, torch.Tensor]:
        """Return the weights after `step` updates, on the CPU."""
        (path,) = self._saved(WEIGHTS, step)
        return _read(path)

    def _write(self, step: int, content: Mapping[str, Any], suffix: str) -> None:
        partial = self.directory / "partial"
        try:
            with open(partial, "wb") as file:
                torch.save(dict(content), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.directory / f"{self.key}-{step:09d}-{digest(partial)}{suffix}")
            # A rename is on the disk only when its directory is.
            descriptor = os.open(self.directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        finally:
            partial.unlink(missing_ok=True)

    def _saved(self, suffix: str, step: int | None = None) -> list[Path]:
        # Equal prefix and zero-padded step: the order of names is the order of steps.
        return sorted(self.directory.glob(f"{self.key}-{'*' if step is None else f'{step:09d}'}-*{suffix}"))

    def _taken(self, step: int) -> bool:
        return any(self._intact(path) for path in self._saved(WEIGHTS, step))

    @staticmethod
    def _intact(path: Path) -> bool:
        """Return whether a file has the digest in its name. Delete the file if it has not."""
        if digest(path) == path.stem.split("-")[2]:
            return True
        logger.warning("The checkpoint %s is damaged and is deleted; looking for an earlier one.", path)
        path.unlink()
        return False


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return content


def _step(checkpoint: Path) -> int:
    return int(checkpoint.stem.split("-")[1])


def remove(directory: str | os.PathLike[str]) -> None:
    """Delete all checkpoints, once the outputs of the training are in place."""
    shutil.rmtree(directory, ignore_errors=True)
