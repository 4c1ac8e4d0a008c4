"""Captions of images that are spread over the rows of a file, grouped by image on disk.

Where a data set marks captions as unusable, a caption may be None, the place of a marked caption.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

Caption = TypeVar("Caption", str, str | None)


class Gathered(Generic[Caption]):
    """Captions by image, in the order of the rows; memory does not depend on the number of rows."""

    def __init__(self) -> None:
        # A temporary SQLite file, which is deleted with the connection.
        self._rows = sqlite3.connect("", isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("CREATE TABLE images (image TEXT PRIMARY KEY, first INTEGER, split TEXT) WITHOUT ROWID")
        # Rows are stored, and read, in the order of the columns first and number.
        stored = "first INTEGER, number INTEGER, image TEXT, split TEXT, caption TEXT, PRIMARY KEY (first, number)"
        self._rows.execute(f"CREATE TABLE captions ({stored}) WITHOUT ROWID")
        self._rows.execute("BEGIN")
        self._number = 0

    def add(self, position: int, image: str, captions: Sequence[Caption], split: str = "") -> str:
        """Store the captions of a row about an image, and return the split of the first row about this image."""
        insert = "INSERT OR IGNORE INTO images VALUES (?, ?, ?)"
        new: int = self._rows.execute(insert, (image, position, split)).rowcount
        found = self._rows.execute("SELECT first, split FROM images WHERE image = ?", (image,))
        first, split_before = found.fetchone()
        # The first row of an image has no caption, so that images without captions are stored, too.
        texts: list[str | None] = [*([None] if new else []), *captions]
        for caption in texts:
            row = (first, self._number, image, split, None if caption is None else _storable(caption))
            self._rows.execute("INSERT INTO captions VALUES (?, ?, ?, ?, ?)", row)
            self._number += 1
        return str(split_before)

    def __contains__(self, image: str) -> bool:
        """Return whether a row about the image was added."""
        found = self._rows.execute("SELECT 1 FROM images WHERE image = ?", (_storable(image),))
        return found.fetchone() is not None

    def of(self, position: int) -> list[Caption] | None:
        """Return all captions of the image whose first row is at `position`; None if an earlier row has the image."""
        found = self._rows.execute("SELECT caption FROM captions WHERE first = ? ORDER BY number", (position,))
        captions = [caption for (caption,) in found]
        return captions[1:] if captions else None

    def images(self) -> Iterator[tuple[str, str, list[Caption]]]:
        """Yield each image with the split of its first row and all its captions."""
        image, split, captions = None, "", list[Caption]()
        rows = self._rows.execute("SELECT image, split, caption FROM captions ORDER BY first, number")
        for name, of_row, caption in rows:
            if name != image and image is not None:
                yield image, split, captions
            if name == image:
                captions.append(caption)
            else:  # the first row of an image
                image, split, captions = name, of_row, []
        if image is not None:
            yield image, split, captions


def _storable(text: str) -> str:
    """Replace half a surrogate pair, which JSON can hold and SQLite cannot, by the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
