"""Checkpoints, log and stop signals of a training by TRL."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from transformers import TrainerCallback

from captionlab.jobs.processes import largest
from captionlab.tracking.tracker import Tracker
from captionlab.tracking.updates import Update
from captionlab.training.trl.rewards import STATISTIC

# Statistics of TRL that are logged, with their names in captionlab. Others depend on the speed of the machine.
NAMES = {
    "loss": "loss",
    "grad_norm": "gradient_norm",
    "learning_rate": "learning_rate",
    "reward": "reward",
    "kl": "kl",
    "entropy": "entropy",
    "mean_token_accuracy": "token_accuracy",
    "completions/mean_length": "caption_length",
    "clip_ratio/region_mean": "clipped",
    "frac_reward_zero_std": "equal_rewards",
    "rewards/margins": "margin",
    "rewards/accuracies": "preferred",
}


def statistics_of(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return the statistics in an entry of TRL's log, by their names in captionlab."""
    names = {name: NAMES.get(name, name.removeprefix(STATISTIC)) for name in entry}
    return {names[name]: float(entry[name]) for name in entry if name in NAMES or name.startswith(STATISTIC)}


class Following(TrainerCallback):
    """Asks for checkpoints, shows updates, and ends the training at a stop signal or a loss that is not finite."""

    def __init__(
        self,
        stop: Sequence[int],
        tracker: Tracker,
        device: str,
        every: int,
        checkpoint_seconds: float = 300.0,
        checkpoint_steps: int | None = None,
    ):
        """Take a list to which stop signals are added. Checkpoints are written after multiples of `every` updates.

        A checkpoint is due every `checkpoint_seconds` and, if `checkpoint_steps` is set, every `checkpoint_steps`
        updates.
        """
        self.stop, self.tracker, self.device, self.every = stop, tracker, device, every
        self.seconds, self.steps = checkpoint_seconds, checkpoint_steps
        self.stopped_by, self.last = 0, time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Ask for a checkpoint, if it is due, and for the end, if a stop signal has come to some process."""
        step = state.global_step
        late = time.monotonic() - self.last >= self.seconds
        due = largest(int(late or (self.steps is not None and step % self.steps == 0)), self.device)
        self.stopped_by = largest(self.stop[0] if self.stop else 0, self.device)
        if step < state.max_steps and step % self.every == 0 and (due or self.stopped_by):
            control.should_save, self.last = True, time.monotonic()
        if self.stopped_by:
            control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Show an update. Raises FloatingPointError if its loss or gradient is not finite."""
        if "loss" not in given["logs"]:
            return
        found = statistics_of(given["logs"])
        if not all(math.isfinite(found.get(name, 0.0)) for name in ("loss", "gradient_norm")):
            raise FloatingPointError(
                f"The loss of update {state.global_step} is not finite, so training stops and nothing is written. A "
                "smaller optimizer.lr or a clip_norm may help."
            )
        self.tracker.add(Update(state.global_step, found, ()))
