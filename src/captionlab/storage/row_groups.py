"""Large tables, read one group of rows at a time, so that memory does not grow with the table."""

import os
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, groupby

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from captionlab.storage.packing import unpack
from captionlab.storage.tables import TableSchema, check_schema, damage_named, read_table


class Groups:
    """The row groups of files with the same table schema, in the order of the files. `groups[n]` reads a group."""

    def __init__(
        self, paths: Iterable[str | os.PathLike[str]], kind: TableSchema, columns: Sequence[str] | None = None
    ) -> None:
        """Open the files to read all columns or some. Raises TableError, which names the file, for another schema."""
        self.paths, self.columns = list(paths), list(columns or kind.columns)
        for path in self.paths:
            check_schema(path, kind)
        self.files = [pq.ParquetFile(path, page_checksum_verification=True) for path in self.paths]
        self.rows = sum(file.metadata.num_rows for file in self.files)
        self._places = [(n, group) for n, file in enumerate(self.files) for group in range(file.num_row_groups)]
        sizes = (self.files[n].metadata.row_group(group).num_rows for n, group in self._places)
        self._ends = list(accumulate(sizes))  # for each group, the number of the row after its last row
        self._last: tuple[int, pa.Table] | None = None

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> pa.Table:
        """Return the rows of a group. Raises TableError, which names the file, if it is damaged."""
        file, group = self._places[number]
        with damage_named(self.paths[file]):
            table = self.files[file].read_row_group(group, self.columns, use_threads=False)
        return unpack(table.replace_schema_metadata(None))

    def parts(self, rows: slice | None = None) -> Iterator[pa.Table]:
        """Yield all rows, or the rows from `rows.start` to `rows.stop`, in tables of at most a group."""
        start, stop = (rows.start, rows.stop) if rows else (0, self.rows)
        first = 0
        for number, end in enumerate(self._ends):
            if first < stop and start < end:
                low = max(start, first)
                yield self[number].slice(low - first, min(stop, end) - low)
            first = end

    def take(self, rows: Sequence[int]) -> pa.Table:
        """Return rows by their numbers from 0, in the order of `rows`. The last group that was read stays in memory."""
        numbers = [bisect_right(self._ends, row) for row in rows]
        found = []
        for number, run in groupby(zip(numbers, rows, strict=True), key=lambda pair: pair[0]):
            if self._last is None or self._last[0] != number:
                self._last = number, self[number]
            table = self._last[1]
            first = self._ends[number] - table.num_rows
            found.append(table.take([row - first for _, row in run]))
        return pa.concat_tables(found)


def read_chosen(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    kind: TableSchema,
    columns: Sequence[str],
    ids: Collection[str],
) -> pa.Table:
    """Return the rows of the images `ids`, in the order of the table. Memory grows with the returned rows only.

    `columns` must contain `image_id`.
    """
    wanted = pa.array([*ids], pa.string())
    files = [paths] if isinstance(paths, (str, os.PathLike)) else [*paths]
    parts = Groups(files, kind, columns).parts()
    found = [part.filter(pc.is_in(part["image_id"], value_set=wanted)) for part in parts]
    return pa.concat_tables(found) if found else read_table(files, kind, columns)
