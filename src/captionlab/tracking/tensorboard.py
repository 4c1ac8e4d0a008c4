"""Training in TensorBoard: curves, cards of images, and a table of captions, written by torch's SummaryWriter."""

import shutil
from pathlib import Path

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from captionlab.tracking.examples import table
from captionlab.tracking.pictures import Pictures
from captionlab.tracking.updates import TrackedTraining, Update

SECONDS = 10  # between flushes to disk, after which readers see new data


class Board:
    """Event file of a training, alone in its folder."""

    def __init__(self, run: TrackedTraining):
        """Open an event file, and delete what an earlier training of the same name left in the folder."""
        shutil.rmtree(run.folder, ignore_errors=True)
        # With purge_step 0, a running TensorBoard forgets all steps of the earlier file.
        self.writer = SummaryWriter(Path(run.folder), purge_step=0, flush_secs=SECONDS)
        self.pictures = Pictures(run.images)

    def add(self, update: Update) -> None:
        """Add an update."""
        for name, value in update.scalars().items():
            self.writer.add_scalar(name, value, update.step)
        if not update.examples:
            return
        for image_id, picture in self.pictures.cards(update.examples):
            self.writer.add_image(f"captions/{image_id}", np.asarray(picture), update.step, dataformats="HWC")
        self.writer.add_text("captions/table", table(update.examples), update.step)

    def close(self, completed: bool) -> None:
        """Write pending data and close the file."""
        self.writer.close()
