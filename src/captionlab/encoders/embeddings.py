"""Tables of embeddings, converted from and to tensors without a Python loop over their values.

Patch features have a vector for each place of an image. They are embeddings with a shape, (places, d), in the metadata
of their table.
"""

import os
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import embeddings_schema
from captionlab.storage.tables import TableError, TableSchema, read_metadata, read_schema

# Key of the metadata that has the shape of an embedding, if it is not a vector.
SHAPE = "shape"

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Embeddings:
    """The embeddings `values` (n, d) or (n, places, d), float32, of the images `ids`.

    `index` maps an image to its row.
    """

    def __init__(self, ids: list[str], values: Tensor, files: list[str]):
        self.ids, self.values, self.files = ids, values, files
        self.index = {image_id: row for row, image_id in enumerate(ids)}
        if len(self.index) < len(ids):
            raise _repeated(files, next(image_id for row, image_id in enumerate(ids) if self.index[image_id] != row))

    def rows(self, ids: Sequence[str]) -> Tensor:
        """Return the embeddings (len(ids), ...) of images, in this order.

        Raises TableError that names the first image without an embedding.
        """
        if missing := [image_id for image_id in ids if image_id not in self.index]:
            raise _missing(self.files, missing, len(ids))
        return self.values[[self.index[image_id] for image_id in ids]]


def load_embeddings(paths: Paths, ids: Sequence[str] | None = None) -> Embeddings:
    """Read the shards of a table of embeddings as one tensor: all images in the table's order, or `ids` in their order.

    Memory holds the result and a row group. Raises TableError that names file and image if a value is not finite, if an
    image has no embedding or several, or if the files have embeddings of different sizes.
    """
    files, kind, shape = _files(paths)
    if ids is None:
        groups = Groups(files, kind, ["image_id"])
        ids = [image_id for number in range(len(groups)) for image_id in groups[number]["image_id"].to_pylist()]
    found = Embeddings(list(ids), torch.empty(len(ids), *shape), files)
    values, times = found.values.numpy(), np.zeros(len(ids), np.int32)
    for names, array in _arrays(files, kind):
        rows = np.fromiter((found.index.get(name, -1) for name in names), np.int64, len(names))
        wanted = np.flatnonzero(rows >= 0)
        rows = rows[wanted]
        values[rows] = array[wanted].reshape(-1, *shape)
        np.add.at(times, rows, 1)
        if len(repeated := rows[times[rows] > 1]):
            raise _repeated(files, found.ids[repeated[0]])
    if len(absent := np.flatnonzero(times == 0)):
        raise _missing(files, [found.ids[row] for row in absent], len(ids))
    return found


def embedding_shape(paths: Paths) -> tuple[int, ...]:
    """Return the shape of an embedding in the shards of a table: (d,) or (places, d)."""
    return _files(paths)[2]


def stream_embeddings(paths: Paths, ids: Sequence[str], batch: int) -> Iterator[Tensor]:
    """Yield the embeddings of `ids`, in this order, `batch` at a time (fewer in the last batch), as float32 (n, ...).

    An embedding that is read before its turn is kept in memory. So memory is small if the table has the order of `ids`,
    as embed_images writes it. In the worst case, the whole table is in memory. Raises TableError if a value is not
    finite, if an embedding is missing, or if the files have embeddings of different sizes.
    """
    files, kind, shape = _files(paths)
    wanted, done, ready = set(ids), 0, 0
    waiting: dict[str, np.ndarray] = {}
    for names, array in _arrays(files, kind):
        waiting.update((name, row) for name, row in zip(names, array, strict=True) if name in wanted)
        while ready < len(ids) and ids[ready] in waiting:
            ready += 1
        while ready - done >= batch or done < ready == len(ids):
            part = [waiting.pop(name) for name in ids[done : min(done + batch, ready)]]
            yield torch.from_numpy(np.stack(part).astype(np.float32, copy=False)).view(-1, *shape)
            done += len(part)
    if ready < len(ids):
        raise _missing(files, [name for name in ids[ready:] if name not in waiting], len(ids))


def embedding_rows(
    ids: pa.ChunkedArray, values: np.ndarray, kind: TableSchema, path: str | os.PathLike[str]
) -> pa.Table:
    """Return embeddings (n, ...) as rows of a table.

    Raises TableError that names an image with values outside its type.
    """
    stored = kind.columns["embedding"].type
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(values, dtype=stored.value_type.to_pandas_dtype()).reshape(len(ids), -1)
    _check_finite(array, ids.to_pylist(), path)
    return pa.table(
        {"image_id": ids, "embedding": pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), type=stored)}
    )


def _files(paths: Paths) -> tuple[list[str], TableSchema, tuple[int, ...]]:
    """Return the files of a table of embeddings, their common schema, and the shape of an embedding."""
    files = [str(paths)] if isinstance(paths, (str, os.PathLike)) else [str(path) for path in paths]
    if not files:
        raise TableError("no file of embeddings was given")
    kinds = [_schema_of(path) for path in files]
    shapes = [
        tuple(read_metadata(path).get(SHAPE, [kind.columns["embedding"].type.list_size]))
        for path, kind in zip(files, kinds, strict=True)
    ]
    for path, shape in zip(files, shapes, strict=True):
        if shape != shapes[0]:
            here, there = (" x ".join(map(str, sizes)) for sizes in (shape, shapes[0]))
            raise TableError(f"{path} has embeddings of {here} dimensions, {files[0]} of {there}")
    return files, kinds[0], shapes[0]


def _schema_of(path: str) -> TableSchema:
    schema = read_schema(path)
    stored = schema.field("embedding").type if "embedding" in schema.names else pa.null()
    if not pa.types.is_fixed_size_list(stored):
        raise TableError(f"{path} is no table of embeddings; it has the columns {', '.join(schema.names)}")
    return embeddings_schema(stored.list_size, "float16" if pa.types.is_float16(stored.value_type) else "float32")


def _arrays(files: Sequence[str], kind: TableSchema) -> Iterator[tuple[list[str], np.ndarray]]:
    """Yield image ids and their embeddings (n, d) for each row group."""
    for path in files:
        groups = Groups([path], kind)
        for number in range(len(groups)):
            group = groups[number]
            names = group["image_id"].to_pylist()
            numbers = group["embedding"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            array = numbers.reshape(len(names), -1)
            _check_finite(array, names, path)
            yield names, array


def _repeated(files: Sequence[str], image_id: str) -> TableError:
    return TableError(f"{', '.join(files)}: image {image_id!r} has more than one embedding")


def _missing(files: Sequence[str], missing: Sequence[str], wanted: int) -> TableError:
    return TableError(
        f"{', '.join(files)}: no embedding of image {missing[0]!r} ({len(missing)} of {wanted} are missing); "
        "delete the file and run again"
    )


def _check_finite(values: np.ndarray, ids: Sequence[str], path: str | os.PathLike[str]) -> None:
    wrong = ~np.isfinite(values).all(axis=1)
    if wrong.any():
        first = int(wrong.argmax())
        raise TableError(
            f"{path}: the embedding of image {ids[first]!r} has a value that is not a finite {values.dtype} "
            f"({int(wrong.sum())} of {len(ids)} embeddings have)"
        )
