"""Files that a reader passes over by the endings of their names."""

import logging
import mimetypes
from collections import Counter

logger = logging.getLogger(__name__)

# Endings of pictures and films that `mimetypes` does not know: raw files of cameras, and newer formats.
_MEDIA = {".3fr", ".3gp", ".arw", ".cr2", ".cr3", ".crw", ".dng", ".eps", ".erf", ".iiq", ".insp", ".jxl", ".jxr"}
_MEDIA |= {".kdc", ".m2ts", ".m4v", ".mkv", ".mts", ".nef", ".nrw", ".orf", ".pef", ".raf", ".rw2", ".srw", ".x3f"}


class PassedOver:
    """Counts of the files that are passed over in a folder or tar, by ending."""

    def __init__(self) -> None:
        self._endings: Counter[str] = Counter()

    def add(self, ending: str) -> None:
        """Count a file by its ending in lower case, for example .mov, or "" if its name has no ending."""
        self._endings[ending] += 1

    def __bool__(self) -> bool:
        return bool(self._endings)

    def __str__(self) -> str:
        """Return the counts as a text, for example `3 .mov, 1 .txt, 2 without ending`."""
        ordered = sorted(self._endings.items(), key=lambda item: (-item[1], item[0]))
        return ", ".join(f"{number} {ending or 'without ending'}" for ending, number in ordered)

    def log(self, where: object) -> None:
        """Log the counts, if there are any; as a warning if an ending is an ending of images, films or packed tars."""
        if self:
            level = logging.WARNING if any(map(_may_be_images, self._endings)) else logging.INFO
            logger.log(level, "%s: files passed over by their endings: %s", where, self)


def _may_be_images(ending: str) -> bool:
    kind = mimetypes.guess_type(f"name{ending}", strict=False)[0] or ""
    return ending in _MEDIA or ".tar." in ending or kind.startswith(("image/", "video/", "application/x-tar"))
