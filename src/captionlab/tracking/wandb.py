"""Training in Weights & Biases: curves, cards of images, and a table of captions.

The user's settings of W&B hold: WANDB_API_KEY or `wandb login`, WANDB_PROJECT, WANDB_ENTITY, WANDB_MODE and others.
"""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import wandb

from captionlab.tracking.examples import COLUMNS
from captionlab.tracking.pictures import Pictures
from captionlab.tracking.updates import TrackedTraining, Update

SECONDS = 60  # to wait at the end for data that are not sent yet; they stay on disk, where `wandb sync` finds them


class Board:
    """Run of W&B. Its files are below the folder of the training."""

    def __init__(self, run: TrackedTraining):
        """Start a run, or resume it if the training was shown before. Raises PermissionError if nobody is logged in."""
        if wandb.setup().settings.mode == "online" and not wandb.login(prompt=False, verify=False):
            raise PermissionError("nobody is logged in; run wandb login, or set WANDB_API_KEY or WANDB_MODE=offline")
        # A run without a network does not resume: its new files have all updates, also of earlier files.
        for old in Path(run.folder).glob(f"wandb/*run-*-{run.id}"):
            shutil.rmtree(old)
        Path(run.folder).mkdir(parents=True, exist_ok=True)
        self.run = wandb.init(
            id=run.id,
            name=run.name,
            job_type=run.rule,
            project=os.environ.get("WANDB_PROJECT", "captionlab"),
            config={**run.config},
            dir=run.folder,
            resume="allow",
            reinit="create_new",
            settings=wandb.Settings(console="off", finish_timeout=SECONDS),
        )
        self.pictures = Pictures(run.images)

    def add(self, update: Update) -> None:
        """Add an update, unless the run has it."""
        if update.step < self.run.step:
            return
        values: dict[str, Any] = {**update.scalars()}
        if update.examples:
            rows: list[Iterable[Any]] = [
                [x.image_id, x.caption, x.reward, "\n".join(x.references)] for x in update.examples
            ]
            values["captions/table"] = wandb.Table(columns=[*COLUMNS], data=rows)
            for image_id, picture in self.pictures.cards(update.examples):
                values[f"captions/{image_id}"] = wandb.Image(picture)
        self.run.log(values, step=update.step)

    def close(self, completed: bool) -> None:
        """Send or write pending data and end the run."""
        self.run.finish(exit_code=int(not completed))
