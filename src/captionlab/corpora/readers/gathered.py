"""Captions of images that are spread over the rows of a file, brought together on disk."""

import sqlite3
from collections.abc import Iterator, Sequence


class Gathered:
    """Captions by image, in the order in which both were met; memory does not depend on how many there are."""

    def __init__(self) -> None:
        # A temporary file of SQLite, which goes with the connection.
        self._rows = sqlite3.connect("", isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("CREATE TABLE images (image TEXT PRIMARY KEY, first INTEGER, split TEXT) WITHOUT ROWID")
        # The columns first and number are the order: rows are read as they are stored.
        stored = "first INTEGER, number INTEGER, image TEXT, split TEXT, caption TEXT, PRIMARY KEY (first, number)"
        self._rows.execute(f"CREATE TABLE captions ({stored}) WITHOUT ROWID")
        self._rows.execute("BEGIN")
        self._number = 0

    def add(self, position: int, image: str, captions: Sequence[str], split: str = "") -> str:
        """Note what the row at a position says of an image; the split that its first row said."""
        new = self._rows.execute("INSERT OR IGNORE INTO images VALUES (?, ?, ?)", (image, position, split)).rowcount
        found = self._rows.execute("SELECT first, split FROM images WHERE image = ?", (image,))
        first, split_before = found.fetchone()
        # An image has a row without a caption first, so that it is there whether it has captions or not.
        for caption in [*([None] if new else []), *map(_storable, captions)]:
            row = (first, self._number, image, split, caption)
            self._rows.execute("INSERT INTO captions VALUES (?, ?, ?, ?, ?)", row)
            self._number += 1
        return str(split_before)

    def __contains__(self, image: str) -> bool:
        """Whether a row is about an image."""
        found = self._rows.execute("SELECT 1 FROM images WHERE image = ?", (_storable(image),))
        return found.fetchone() is not None

    def of(self, position: int) -> list[str] | None:
        """All captions of the image of the row at a position; None where a row before is about it."""
        found = self._rows.execute("SELECT caption FROM captions WHERE first = ? ORDER BY number", (position,))
        captions = [caption for (caption,) in found]
        return captions[1:] if captions else None

    def images(self) -> Iterator[tuple[str, str, list[str]]]:
        """Each image with the split of its first row and its captions."""
        image, split, captions = None, "", list[str]()
        rows = self._rows.execute("SELECT image, split, caption FROM captions ORDER BY first, number")
        for name, of_row, caption in rows:
            if name != image and image is not None:
                yield image, split, captions
            if name != image:
                image, split, captions = name, of_row, []
            captions += [caption] if caption is not None else []
        if image is not None:
            yield image, split, captions


def _storable(text: str) -> str:
    """Half a surrogate pair, which JSON can hold and SQLite cannot, as the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
