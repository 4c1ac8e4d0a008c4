"""Captioners that only write texts: programs, searches in other captions, models of other libraries.

class Sizes(Writer):
    def caption(self, images):
        return [f"a picture {image.picture.width} pixels wide" for image in images]

FAMILY = Sizes
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL.Image import Image


@dataclass(frozen=True)
class ShownImage:
    """An image that is to be described: the name of its corpus, its id there, and the picture, upright and in RGB."""

    corpus: str
    image_id: str
    picture: Image


class Writer(ABC):
    """Base of captioners that only write texts. One is made for a job."""

    batch = 16
    """largest number of images that are shown at a time"""

    def __init__(self, config: Mapping[str, Any]):
        """Keep the block of the config, with its defaults; keys that name files have their paths."""
        self.config = config

    @abstractmethod
    def caption(self, images: Sequence[ShownImage]) -> Sequence[str]:
        """Return one caption for each image."""
