"""Features in Parquet: a fixed-size list of float16 or float32 in memory, and the bytes of the list in the file.

Parquet writes a list number by number, each with its position in the list, and stores half precision as strings of two
bytes. On random features, writing lists was 2 (float32) to 6 times (float16) slower than writing their bytes as one
value, and reading was 1.3 to 8 times slower. Features hardly compress (by 8 %), so they are not compressed.

The metadata of a packed field has the type of its numbers, so a file can be read without its table schema.
"""

from typing import Any

import pyarrow as pa

# Key in the metadata of a packed field; the value is the name of the type of the numbers.
NUMBERS = b"numbers"
_NAMES = {pa.float16(): b"float16", pa.float32(): b"float32"}
# Size of a page of features: large, but a few pages still take little memory.
PAGE_BYTES = 4 << 20


def packed_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema in the file for a schema in memory."""
    return pa.schema([_packed_field(field) for field in schema], schema.metadata)


def unpacked_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema in memory for a schema in the file."""
    return pa.schema([_unpacked_field(field) for field in schema], schema.metadata)


def pack(table: pa.Table) -> pa.Table:
    """Return a table with its columns as in the file, without a copy. Raises ValueError if a feature is missing."""
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
    """Return a table read from a file with its columns as in memory, without a copy."""
    schema = unpacked_schema(table.schema)
    columns = [
        _unpacked_column(column, field.type) if NUMBERS in (packed.metadata or {}) else column
        for packed, field, column in zip(table.schema, schema, table.columns, strict=True)
    ]
    return pa.table(columns, schema=schema)


def row_bytes(schema: pa.Schema) -> int:
    """Return the bytes of the features of a row; 0 without features."""
    return sum(_packed_field(field).type.byte_width for field in schema if _is_features(field.type))


def writer_options(schema: pa.Schema) -> dict[str, Any]:
    """Return the options of a Parquet writer: features are not compressed, and every page has a checksum.

    Other columns are compressed by zstd.
    """
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
