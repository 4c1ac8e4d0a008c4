"""Large tables, read one group of rows at a time: memory does not grow with the table."""

import os
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from captionlab.packing import unpack
from captionlab.tables import TableSchema, check_schema, damage_named


class Groups:
    """The groups of rows of some files of one kind, in the order given; `groups[n]` reads one of them."""

    def __init__(
        self, paths: Iterable[str | os.PathLike[str]], kind: TableSchema, columns: Sequence[str] | None = None
    ) -> None:
        """Open the files, to read all columns or some; TableError names a file that is not of this kind."""
        self.paths, self.columns = list(paths), list(columns or kind.columns)
        for path in self.paths:
            check_schema(path, kind)
        self.files = [pq.ParquetFile(path, page_checksum_verification=True) for path in self.paths]
        self.rows = sum(file.metadata.num_rows for file in self.files)
        self._places = [(n, group) for n, file in enumerate(self.files) for group in range(file.num_row_groups)]

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> pa.Table:
        """The rows of a group; TableError names a file that is damaged."""
        file, group = self._places[number]
        with damage_named(self.paths[file]):
            table = self.files[file].read_row_group(group, self.columns, use_threads=False)
        return unpack(table.replace_schema_metadata(None))
