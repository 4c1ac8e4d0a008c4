"""Data that trackers show of a training: its updates, and captions of the same few images."""

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple


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


class TrackedTraining(NamedTuple):
    """Training that is tracked."""

    folder: str
    """folder of the event file"""
    images: str | os.PathLike[str]
    """table of IMAGES with the images of the examples"""
