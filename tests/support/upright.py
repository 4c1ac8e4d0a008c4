"""Pictures as files store them, for each EXIF orientation."""

import numpy as np

# Where the first row and the first column of what is stored lie in the picture, by EXIF 2.3, table 6 (Orientation).
SIDES = {
    1: ("top", "left"), 2: ("top", "right"), 3: ("bottom", "right"), 4: ("bottom", "left"),
    5: ("left", "top"), 6: ("right", "top"), 7: ("right", "bottom"), 8: ("left", "bottom"),
}  # fmt: skip


def as_stored(picture: np.ndarray, orientation: int) -> np.ndarray:
    """The pixels to store of a picture, so that it is seen again when the orientation is heeded."""
    height, width = picture.shape[:2]
    first, _ = sides = SIDES[orientation]
    stored = np.zeros((height, width, 3) if first in ("top", "bottom") else (width, height, 3), np.uint8)
    for line in range(stored.shape[0]):
        for column in range(stored.shape[1]):
            y = x = 0
            for side, step in zip(sides, (line, column), strict=True):
                if side in ("top", "bottom"):
                    y = step if side == "top" else height - 1 - step
                else:
                    x = step if side == "left" else width - 1 - step
            stored[line, column] = picture[y, x]
    return stored
