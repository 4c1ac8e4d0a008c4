"""Checkpoints of a training: files that a kill at any moment cannot harm.

They lie in a directory that is no declared output of any rule, because a workflow wipes the outputs of a failed job.
The name of a file holds the fingerprint of its training, its step and a digest of its own content. So a training never
resumes from another one's checkpoint, and a damaged file is recognised and passed over for the one before it.
"""

import hashlib
import json
import logging
import math
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import Parameter

from captionlab import paths
from captionlab.distributed import is_first
from captionlab.files import digest
from captionlab.provenance import input_digests
from captionlab.scripting import device, folder_of
from captionlab.tracking.tracker import NOBODY, tracker_of

logger = logging.getLogger(__name__)

# The newest may be damaged by a failing disk; the one before it is then there.
KEPT = 2


def fingerprint(job: Any) -> str:
    """A digest of all that a training follows from: code, versions, config and seed of its job, and what it reads.

    Where it stops is not among it, so a training goes on from the checkpoint of one that stopped earlier.
    """
    parameters = {name: job.params[name] for name in ("code", "versions", "config", "seed")}
    config = parameters["config"]
    optimizer = {key: value for key, value in config["optimizer"].items() if key != "stop_after"}
    parameters["config"] = {**config, "optimizer": optimizer}
    whole = json.dumps([parameters, list(input_digests(job).values())], sort_keys=True)
    return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()


def job_arguments(job: Any) -> dict[str, Any]:
    """What `train` is told of a rule's job: its seed, its device, who watches, where log and checkpoints go, how often.

    Checkpoints lie in results/state, in a folder named as that of the weights.
    """
    return {
        "seed": job.params.seed,
        "log_path": job.output.training,
        "state_directory": _state_beside(job, job.output.weights),
        "shorter": [_state_beside(job, weights) for weights in job.input.get("shorter", [])],
        "fingerprint": fingerprint(job),
        "device": device(),
        "tracker": tracker_of(job) if is_first() else NOBODY,
        # A section of the config and no parameter of the rule: how often they are written invalidates nothing.
        **{f"checkpoint_{name}": value for name, value in job.config.get("checkpoints", {}).items()},
    }


def ends_early(optimizer: Mapping[str, Any]) -> bool:
    """Whether a training stops before the end of its schedule, where a longer one may go on."""
    return bool(optimizer.get("stop_after", math.inf) < optimizer.get("epochs", 0))


def _state_beside(job: Any, weights: str) -> str:
    return paths.state(job.rule, folder_of(weights).name)


class Resumable:
    """What goes on from a checkpoint: the attributes in `kept`, tensors and plain values or resumable themselves."""

    kept: tuple[str, ...] = ()

    def state_dict(self) -> dict[str, Any]:
        """What is kept, by name."""
        values = {name: _resumable(getattr(self, name)) for name in self.kept}
        return {name: value.state_dict() if isinstance(value, Resumable) else value for name, value in values.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for name in self.kept:
            if isinstance(value := _resumable(getattr(self, name)), Resumable):
                value.load_state_dict(state[name])
            else:
                setattr(self, name, state[name])


class Changing(Resumable):
    """Of a network what a training can change: the parameters that are not frozen, and the buffers."""

    def __init__(self, network: torch.nn.Module):
        self.network = network

    def state_dict(self) -> dict[str, torch.Tensor]:
        """These tensors, by name."""
        whole = self.network.state_dict(keep_vars=True).items()
        changing = {name: value for name, value in whole if value.requires_grad or not isinstance(value, Parameter)}
        return {name: value.detach() for name, value in changing.items()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Give the network saved ones; RuntimeError where they are others than it has."""
        self.network.load_state_dict({**self.network.state_dict(), **state})


def _resumable(value: Any) -> Any:
    return Changing(value) if isinstance(value, torch.nn.Module) else value


class Checkpoints:
    """The checkpoints of one training, and when the next one is due."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        fingerprint: str,
        last: int,
        seconds: float = 300.0,
        steps: int | None = None,
        shorter: Sequence[str | os.PathLike[str]] = (),
    ):
        """Open the directory and delete what other trainings, or a killed one, left in it.

        The training has `last` updates: later checkpoints are of a time when it had more. One is due every so many
        seconds and, where given, every so many steps. In the directories `shorter` those of trainings may lie that do
        the same and stop earlier.
        """
        self.directory, self.last_step, self.seconds, self.steps = Path(directory), last, seconds, steps
        self.shorter = [Path(one) for one in shorter]
        self.key = hashlib.blake2b(fingerprint.encode(), digest_size=8).hexdigest()
        self.directory.mkdir(parents=True, exist_ok=True)
        for path in self.directory.iterdir():
            if path.suffix != ".pt" or not path.name.startswith(self.key) or _step(path) > last:
                path.unlink()
        self.last = time.monotonic()

    def due(self, step: int) -> bool:
        """Whether a checkpoint should be written now that `step` updates are done."""
        late = time.monotonic() - self.last >= self.seconds
        return late or (self.steps is not None and step % self.steps == 0)

    def newest(self) -> dict[str, Any] | None:
        """The latest state that is intact and leads to this training's end, on the CPU; None when there is none."""
        saved = [path for directory in (self.directory, *self.shorter) for path in self._saved(directory)]
        for path in sorted((path for path in saved if _step(path) <= self.last_step), key=_step, reverse=True):
            if digest(path) == path.stem.split("-")[2]:
                return torch.load(path, map_location="cpu", weights_only=True)
            logger.warning("The checkpoint %s is damaged and is deleted; looking for an earlier one.", path)
            path.unlink()
        return None

    def save(self, step: int, state: Mapping[str, Any]) -> None:
        """Write the state after `step` updates and delete the oldest; if the disk refuses, warn and go on without."""
        partial = self.directory / "partial"
        try:
            with open(partial, "wb") as file:
                torch.save(dict(state), file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.directory / f"{self.key}-{step:09d}-{digest(partial)}.pt")
            # A rename is on the disk only when its directory is.
            descriptor = os.open(self.directory, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            # At the end one is left, for a longer training: where that is damaged, it starts at the beginning.
            for path in self._saved(self.directory)[: -1 if step == self.last_step else -KEPT]:
                path.unlink()
        except (OSError, RuntimeError) as error:
            # torch reports a full disk as a RuntimeError.
            logger.warning("The checkpoint of step %d could not be written to %s: %s", step, self.directory, error)
            partial.unlink(missing_ok=True)
        self.last = time.monotonic()

    def _saved(self, directory: Path) -> list[Path]:
        # Equal prefix and zero-padded step: the order of names is the order of steps.
        return sorted(directory.glob(f"{self.key}-*.pt"))


def _step(checkpoint: Path) -> int:
    return int(checkpoint.stem.split("-")[1])


def remove(directory: str | os.PathLike[str]) -> None:
    """Delete all checkpoints, when the outputs of the training are in their places."""
    shutil.rmtree(directory, ignore_errors=True)
