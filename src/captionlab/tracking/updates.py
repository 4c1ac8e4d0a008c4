"""Data that trackers show of a training: its updates, and captions of the same few images."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

OPTIMIZER = ("gradient_norm", "learning_rate")


class Example(NamedTuple):
    """Caption of an image by the captioner at an update."""

    image_id: str
    references: Sequence[str]
    caption: str
    reward: float | None
    """the number that training maximises; None where captions earn nothing"""


class Update(NamedTuple):
    """Update of a training."""

    step: int
    """updates done; 0 before the first"""
    statistics: Mapping[str, float]
    """the statistics of the log"""
    examples: Sequence[Example] = ()
    """at a validation, captions of the same images each time"""

    def scalars(self) -> dict[str, float]:
        """Return the statistics by the names of their curves."""
        return {tag(name): value for name, value in self.statistics.items()}


class TrackedTraining(NamedTuple):
    """Training that is tracked."""

    rule: str
    """rule that trains"""
    name: str
    """name of the model in the config"""
    id: str
    """the same for all jobs that work on the training: a training that resumes is shown as the same run"""
    config: Mapping[str, Any]
    """block of the model in the config"""
    folder: str
    """folder of the files of trackers"""
    images: str | os.PathLike[str]
    """table of IMAGES with the images of the examples"""


def tag(statistic: str) -> str:
    """Return the name of a statistic's curve: its group, and the statistic."""
    if statistic.startswith("validation_"):
        return statistic.replace("_", "/", 1)
    return f"{'optimizer' if statistic in OPTIMIZER else 'training'}/{statistic}"
