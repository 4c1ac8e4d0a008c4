"""Parquet tables between rules. They are read and written through this module only.

Every table schema is declared once: in schemas.py, or in the schemas.py of a stage. The schema is checked on writing
and on reading; an error names the file and the column. A file is written beside its place and then renamed, so a killed
job leaves no incomplete table. Each page has a checksum, which detects damage by a disk.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from captionlab.storage.files import replacing
from captionlab.storage.packing import pack, packed_schema, row_bytes, unpack, unpacked_schema, writer_options

# Most rows of a group, and bytes of its features: enough for columns to compress, and few enough to fit in memory.
ROW_GROUP, GROUP_BYTES = 16_384, 8 << 20
# An Arrow table, values by column, or a mapping for each row, which may have more keys than there are columns.
Rows: TypeAlias = pa.Table | Mapping[str, Any] | Sequence[Mapping[str, Any]]


class TableError(ValueError):
    """A table does not have the columns, types or keys of its table schema."""


@dataclass(frozen=True)
class Column:
    """A column: its Arrow type, its meaning (with its unit), and whether values may be missing."""

    type: pa.DataType
    meaning: str
    nullable: bool = False


class TableSchema:
    """A table schema: its name, the meaning of a row, the columns that identify a row, and all columns in order."""

    def __init__(self, name: str, row: str, key: tuple[str, ...], /, **columns: Column):
        self.name, self.row, self.key, self.columns = name, row, key, columns

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema, without metadata."""
        return pa.schema([pa.field(name, c.type, nullable=c.nullable) for name, c in self.columns.items()])

    @property
    def group_rows(self) -> int:
        """Return the largest number of rows in a group, which a reader has in memory at a time."""
        return max(1, min(ROW_GROUP, GROUP_BYTES // (row_bytes(self.schema) or 1)))


class TableWriter:
    """A writer of a table in pieces. The file appears at `path` when the block ends without an error."""

    def __init__(self, path: str | os.PathLike[str], schema: TableSchema, metadata: Mapping[str, Any] | None = None):
        self.path, self.table_schema = Path(path), schema
        encoded = {name: json.dumps(value, sort_keys=True) for name, value in (metadata or {}).items()}
        self.schema = schema.schema.with_metadata({"kind": schema.name, **encoded})
        self.rows = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            partial = stack.enter_context(replacing(self.path))
            writer = pq.ParquetWriter(partial, packed_schema(self.schema), **writer_options(self.schema))
            self._writer = stack.enter_context(writer)
            self._open = stack.pop_all()
        return self

    def write(self, rows: Rows) -> None:
        """Append rows. Raises TableError if they do not fit the table schema."""
        table = conform(rows, self.table_schema, self.path).replace_schema_metadata(self.schema.metadata)
        try:
            packed = pack(table)
        except ValueError as error:
            raise TableError(f"{self.path}: {error}") from error
        self._writer.write_table(packed, row_group_size=self.table_schema.group_rows)
        self.rows += table.num_rows

    def __exit__(self, *failure: Any) -> None:
        self._open.__exit__(*failure)


def conform(rows: Rows, schema: TableSchema, path: str | os.PathLike[str]) -> pa.Table:
    """Return the rows as an Arrow table of this schema. Raises TableError, which names the column that does not fit."""
    if isinstance(rows, Sequence):
        rows = {name: [row[name] for row in rows] for name in schema.columns}
    names = rows.column_names if isinstance(rows, pa.Table) else list(rows)
    if missing := [name for name in schema.columns if name not in names]:
        raise TableError(f"{path}: a table of {schema.name} needs the column {missing[0]!r}; it has {', '.join(names)}")
    if extra := [name for name in names if name not in schema.columns]:
        raise TableError(f"{path}: a table of {schema.name} has no column {extra[0]!r}")
    arrays = []
    for name, column in schema.columns.items():
        try:
            values = rows[name]
            arrow = isinstance(values, (pa.Array, pa.ChunkedArray))
            array = values.cast(column.type) if arrow else pa.array(values, column.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise TableError(f"{path}: column {name!r} ({column.meaning}) must be {column.type}: {error}") from error
        if array.null_count and not column.nullable:
            raise TableError(f"{path}: column {name!r} ({column.meaning}) has {array.null_count} missing values")
        arrays.append(array)
    return pa.table(arrays, schema=schema.schema)


def write_table(
    path: str | os.PathLike[str],
    schema: TableSchema,
    rows: Rows,
    metadata: Mapping[str, Any] | None = None,
) -> None:
    """Write a whole table. Raises TableError if the rows do not fit the table schema or a key is repeated."""
    table = conform(rows, schema, path)
    counts = table.group_by(list(schema.key)).aggregate([([], "count_all")])
    if counts.num_rows < table.num_rows:
        repeated = counts.filter(pc.field("count_all") > 1).select(schema.key)
        first = repeated.slice(0, 1).to_pylist()[0]
        raise TableError(f"{path}: {repeated.num_rows} keys of {schema.name} are repeated, the first is {first}")
    with TableWriter(path, schema, metadata) as writer:
        writer.write(table)


def read_table(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    schema: TableSchema,
    columns: Sequence[str] | None = None,
) -> pa.Table:
    """Read all or some columns of one file, or of several files with the same schema in their order.

    Raises TableError if there is no file, or if a file is missing, damaged or of another schema.
    """
    tables = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        check_schema(path, schema)
        names = list(columns or schema.columns)
        # pq.read_table would read folders of a path as columns.
        with damage_named(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read(names).select(names)
        tables.append(unpack(table).replace_schema_metadata(None))
    if not tables:
        raise TableError(f"no file of {schema.name} was given")
    return pa.concat_tables(tables)


@contextmanager
def damage_named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn Arrow's errors for a damaged file, which do not name the file, into a TableError."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path} cannot be read to its end ({error}); delete it and run again") from error


def check_schema(path: str | os.PathLike[str], schema: TableSchema) -> None:
    """Raise TableError, which names file and column, if a file does not have this table schema."""
    stored = read_schema(path)
    for name, column in schema.columns.items():
        if name not in stored.names:
            has = ", ".join(stored.names)
            raise TableError(f"{path}: a table of {schema.name} needs the column {name!r}; it has {has}")
        if not (found := stored.field(name).type).equals(column.type):
            raise TableError(f"{path}: column {name!r} is {found}, a table of {schema.name} has {column.type}")


def read_schema(path: str | os.PathLike[str]) -> pa.Schema:
    """Return the Arrow schema of a table file, as in memory. Raises TableError if the file is missing or unreadable."""
    try:
        return unpacked_schema(pq.read_schema(path))
    except FileNotFoundError:
        raise TableError(f"{path}: no such file; run Snakemake again to make it") from None
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{path} is no readable Parquet file ({error}); delete it and run again") from error


def read_schema_name(path: str | os.PathLike[str]) -> str:
    """Return the name of the table schema that a file was written with."""
    return (read_schema(path).metadata or {}).get(b"kind", b"").decode()


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the metadata that the writer of a table added."""
    own = {name.decode(): text for name, text in (read_schema(path).metadata or {}).items()}
    return {name: json.loads(text) for name, text in own.items() if name not in ("kind", "ARROW:schema")}
