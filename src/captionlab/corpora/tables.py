"""Writing of the five tables of a corpus."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from captionlab.storage.schemas import CAPTIONS, IMAGES, OBJECTS, REJECTS, SCENE_CAPTIONS
from captionlab.storage.tables import GROUP_BYTES, TableWriter

TABLES = {
    "images": IMAGES,
    "captions": CAPTIONS,
    "objects": OBJECTS,
    "scene_captions": SCENE_CAPTIONS,
    "rejects": REJECTS,
}


class Rows:
    """Rows that wait to be written to a table.

    They are written when `most` rows are waiting, when their images hold GROUP_BYTES or more, or on `flush`. If `most`
    is None, they are written on `flush` only.
    """

    def __init__(self, writer: TableWriter, most: int | None):
        self.writer, self.most = writer, most
        self.waiting: list[tuple[Any, ...]] = []
        self.held = 0  # bytes of images

    def append(self, *row: Any) -> None:
        """Add a row, with its values in the order of the columns."""
        self.waiting.append(row)
        self.held += sum(len(value) for value in row if isinstance(value, bytes))
        if self.most is not None and (len(self.waiting) == self.most or self.held >= GROUP_BYTES):
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows."""
        if self.waiting:
            self.writer.write(dict(zip(self.writer.table_schema.columns, zip(*self.waiting, strict=True), strict=True)))
            self.waiting.clear()
            self.held = 0


@contextmanager
def corpus_tables(paths: Mapping[str, Path], most: int | None = None) -> Iterator[Mapping[str, Rows]]:
    """Yield the rows of each table by name. The files appear when the block ends without an error."""
    with ExitStack() as stack:
        tables = {
            name: Rows(stack.enter_context(TableWriter(paths[name], kind)), most) for name, kind in TABLES.items()
        }
        yield tables
        for rows in tables.values():
            rows.flush()
