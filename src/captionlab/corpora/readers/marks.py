"""Captions that a data set itself marks as unusable, as VizWiz-Captions does."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError

logger = logging.getLogger(__name__)

# Fields that mark a caption: spam, and the fixed sentence for images that are too bad to describe.
MARKS = ("is_rejected", "is_precanned")
# Values of marks, in small letters where they are texts of a table.
_VALUES = dict.fromkeys(("true", "1", "1.0"), True) | dict.fromkeys(("false", "0", "0.0", "", "none", "nan"), False)


class MarkedCaptions:
    """The captions of a file that are left out because they are marked, and the counts of these and of their images."""

    def __init__(self, keep: Collection[str] = ()):
        """Leave out captions with any mark but those in `keep`, which are written without `is_`."""
        self._marks = [mark for mark in MARKS if mark.removeprefix("is_") not in keep]
        self._counts, self._images = Counter[str](), 0

    def leave_out(self, annotation: Any, where: str) -> bool:
        """Return whether a caption is marked, and count it by its first mark. A mark may be missing or null.

        Raises CorpusError if it is neither true nor false. Readers put None in the place of a marked caption.
        """
        for mark in self._marks:
            text = str(annotation.get(mark)).strip().lower()
            if text not in _VALUES:
                raise CorpusError(f"{where}: {mark!r} is {text[:40]!r}; it must be true or false")
            if _VALUES[text]:
                self._counts[mark] += 1
                return True
        return False

    def usable(self, captions: Iterable[str | None]) -> list[str] | None:
        """Return the captions of an image without its marked captions, which are None.

        Returns None, and counts the image, if all its captions are marked: readers leave such an image out, and it is
        no reject. An image without any caption has an empty list.
        """
        listed = list(captions)
        usable = [caption for caption in listed if caption is not None]
        if listed and not usable:
            self._images += 1
            return None
        return usable

    def log(self, file: Path) -> None:
        """Log how many captions of a file or folder were left out, and how many images that have no others."""
        if self._counts:
            marked = " and ".join(f"{number} captions marked {mark}" for mark, number in sorted(self._counts.items()))
            alone = f", and {self._images} images that have no other captions" if self._images else ""
            logger.warning("%s: left out %s%s", file, marked, alone)
