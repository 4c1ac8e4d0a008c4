"""A run in Trackio: curves and tables of captions with their images, in a database below results/."""

import os
from pathlib import Path
from typing import Any

from captionlab import paths
from captionlab.tracking.pictures import Pictures
from captionlab.tracking.tracker import Run, Update, tag

# Trackio reads it when it is imported.
os.environ["TRACKIO_DIR"] = str(Path(paths.TRACKIO).absolute())

import trackio


class Board:
    """The run of that name in the project of the config; Trackio writes by itself, twice a second."""

    def __init__(self, run: Run):
        name = f"{run.rule}/{run.name}"
        Path(paths.TRACKIO).mkdir(parents=True, exist_ok=True)
        for earlier in _runs(run.project):
            if earlier.name == name:
                earlier.delete()
        self.run = trackio.init(
            run.project, name=name, group=run.rule, embed=False, auto_log_gpu=False, auto_log_cpu=False
        )
        self.pictures = Pictures(run.images)

    def add(self, update: Update) -> None:
        """Show one more update."""
        shown: dict[str, object] = {tag(name): value for name, value in update.statistics.items()}
        if update.examples:
            images = self.pictures.of(example.image_id for example in update.examples)
            # Trackio shows texts as they are.
            rows = [
                {
                    "image": trackio.Image(image) if image else example.image_id,
                    "caption": example.caption,
                    "reward": example.reward,
                    "references": " / ".join(example.references),
                }
                for image, example in zip(images, update.examples, strict=True)
            ]
            shown["captions/table"] = trackio.Table(data=rows)
        self.run.log(shown, step=update.step)

    def flush(self) -> None:
        """Let others see all that was added: Trackio does it itself."""

    def close(self) -> None:
        """There is nothing more to come."""
        self.run.finish()


def _runs(project: str) -> list[Any]:
    """The runs of a project so far."""
    try:
        return [*trackio.Api().runs(project)]
    except ValueError:  # it has none
        return []
