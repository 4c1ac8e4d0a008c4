"""Features in Parquet: in memory a fixed-size list of float16 or float32, in the file the bytes of that list.

Parquet writes a list number by number, each with its place in the list, and stores half precision as strings of two
bytes: on random features, writing was 2 (float32) to 6 times (float16) slower than with their bytes as one value, and
reading 1.3 to 8 times. Features hardly compress either (by 8 %), so they are not compressed.

A packed column says in the metadata of its field what its bytes are, so a file can be read without knowing its kind.
"""

from typing import Any

import pyarrow as pa

# Key in the metadata of a packed field; the value is the name of the numbers' type.
NUMBERS = b"numbers"
_NAMES = {pa.float16(): b"float16", pa.float32(): b"float32"}
# Pages of features: as large as they may be while a few of them do not count.
PAGE_BYTES = 4 << 20


def packed_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of the file for a schema in memory."""
    return pa.schema([_packed_field(field) for field in schema], schema.metadata)


def unpacked_schema(schema: pa.Schema) -> pa.Schema:
    """The schema in memory for the schema of a file."""
    return pa.schema([_unpacked_field(field) for field in schema], schema.metadata)


def pack(table: pa.Table) -> pa.Table:
    """The columns of a table as its file has them, without a copy; ValueError for features with a missing number."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        if not _is_features(field.type):
            columns.append(column)
        elif missing := sum(chunk.flatten().null_count for chunk in column.chunks):
            raise ValueError(f"column {field.name!r} has {missing} missing numbers; a row needs all of its features")
        else:
            columns.append(_packed_column(column, _packed_field(field).type))
    return pa.table(columns, schema=packed_schema(table.schema))


def unpack(table: pa.Table) -> pa.Table:
    """The columns of a table that was read from its file, as they are in memory, without a copy."""
    schema = unpacked_schema(table.schema)
    columns = [
        _unpacked_column(column, field.type) if NUMBERS in (packed.metadata or {}) else column
        for packed, field, column in zip(table.schema, schema, table.columns, strict=True)
    ]
    return pa.table(columns, schema=schema)


def row_bytes(schema: pa.Schema) -> int:
    """Bytes of the features of a row; 0 without any."""
    return sum(_packed_field(field).type.byte_width for field in schema if _is_features(field.type))


def writer_options(schema: pa.Schema) -> dict[str, Any]:
    """Options of a Parquet writer: features as they are, all else compressed; every page has a checksum."""
    others = [field.name for field in schema if not _is_features(field.type)]
    if len(others) == len(schema):
        return {"compression": "zstd", "write_page_checksum": True}
    return {
        "compression": {field.name: "zstd" if field.name in others else "none" for field in schema},
        "use_dictionary": others,
        "write_statistics": others,
        "data_page_size": PAGE_BYTES,
        "write_page_checksum": True,
    }


def _is_features(type: pa.DataType) -> bool:
    return pa.types.is_fixed_size_list(type) and type.value_type in _NAMES


def _packed_field(field: pa.Field) -> pa.Field:
    if not _is_features(field.type):
        return field
    numbers = field.type.value_type
    stored = pa.binary(field.type.list_size * numbers.bit_width // 8)
    return pa.field(field.name, stored, field.nullable, {NUMBERS: _NAMES[numbers]})


def _unpacked_field(field: pa.Field) -> pa.Field:
    if NUMBERS not in (field.metadata or {}):
        return field
    numbers = pa.type_for_alias(field.metadata[NUMBERS].decode())
    listed = pa.list_(numbers, field.type.byte_width * 8 // numbers.bit_width)
    return pa.field(field.name, listed, field.nullable)


def _packed_column(column: pa.ChunkedArray, stored: pa.DataType) -> pa.ChunkedArray:
    chunks = []
    for chunk in column.chunks:
        numbers = chunk.flatten()
        start = numbers.offset * numbers.type.bit_width // 8
        data = numbers.buffers()[1].slice(start, len(chunk) * stored.byte_width)
        chunks.append(pa.Array.from_buffers(stored, len(chunk), [None, data]))
    return pa.chunked_array(chunks, stored)


def _unpacked_column(column: pa.ChunkedArray, listed: pa.DataType) -> pa.ChunkedArray:
    chunks = []
    for chunk in column.chunks:
        width = chunk.type.byte_width
        data = chunk.buffers()[1].slice(chunk.offset * width, len(chunk) * width)
        numbers = pa.Array.from_buffers(listed.value_type, len(chunk) * listed.list_size, [None, data])
        chunks.append(pa.FixedSizeListArray.from_arrays(numbers, type=listed))
    return pa.chunked_array(chunks, listed)
