"""Training in TensorBoard: curves, cards of images, and a table of captions, written by torch's SummaryWriter."""

import re
import shutil
from pathlib import Path

import numpy as np
from torch.utils.tensorboard import SummaryWriter

from captionlab.tracking.pictures import Pictures, card
from captionlab.tracking.updates import TrackedTraining, Update

SECONDS = 10  # between flushes to disk, after which readers see new data
OPTIMIZER = ("gradient_norm", "learning_rate")


class Board:
    """Event file of a run, alone in its folder."""

    def __init__(self, run: TrackedTraining):
        """Open an event file, and delete what an earlier training of the same name left in the folder."""
        shutil.rmtree(run.folder, ignore_errors=True)
        # With purge_step 0, a running TensorBoard forgets all steps of the earlier file.
        self.writer = SummaryWriter(Path(run.folder), purge_step=0, flush_secs=SECONDS)
        self.pictures = Pictures(run.images)

    def add(self, update: Update) -> None:
        """Add an update."""
        for name, value in update.statistics.items():
            self.writer.add_scalar(tag(name), value, update.step)
        if not update.examples:
            return
        images = self.pictures.of(example.image_id for example in update.examples)
        for image, example in zip(images, update.examples, strict=True):
            picture = np.asarray(card(image, example))
            self.writer.add_image(f"captions/{example.image_id}", picture, update.step, dataformats="HWC")
        self.writer.add_text("captions/table", table(update), update.step)

    def close(self) -> None:
        """Write pending data and close the file."""
        self.writer.close()


def tag(statistic: str) -> str:
    """Return the name of a statistic's curve: its group, and the statistic."""
    if statistic.startswith("validation_"):
        return statistic.replace("_", "/", 1)
    return f"{'optimizer' if statistic in OPTIMIZER else 'training'}/{statistic}"


def table(update: Update) -> str:
    """Return the examples of an update as a Markdown table with all texts escaped."""
    rows = [
        (
            escaped(example.image_id),
            escaped(example.caption),
            "" if example.reward is None else f"{example.reward:.4g}",
            "<br>".join(map(escaped, example.references)),
        )
        for example in update.examples
    ]
    lines = [("image", "caption", "reward", "references"), ("---",) * 4, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """Return a text in one line, with each mark as a character reference, so that Markdown and HTML see no mark."""
    return re.sub(r"[^\w\s]|_", lambda mark: f"&#{ord(mark[0])};", " ".join(text.split()))
