"""Tables of embeddings, from and to tensors without a Python loop over their values."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor

from captionlab.tables import Kind, TableError, embeddings_kind, read_table


@dataclass(frozen=True)
class Embeddings:
    """The embeddings `values` (n, d), float32, of images `ids`; `index` says which row is whose."""

    ids: list[str]
    values: Tensor
    files: list[str]
    index: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {image_id: row for row, image_id in enumerate(self.ids)})
        if len(self.index) < len(self.ids):
            repeated = next(image_id for row, image_id in enumerate(self.ids) if self.index[image_id] != row)
            raise TableError(f"{', '.join(self.files)}: image {repeated!r} has more than one embedding")

    def rows(self, ids: Sequence[str]) -> Tensor:
        """The embeddings (len(ids), d) of these images, in this order; TableError names the first that has none."""
        try:
            return self.values[[self.index[image_id] for image_id in ids]]
        except KeyError as error:
            missing = sum(image_id not in self.index for image_id in ids)
            raise TableError(
                f"{', '.join(self.files)}: no embedding of image {error.args[0]!r} ({missing} of {len(ids)} are "
                "missing); delete the file and run again"
            ) from error


def load_embeddings(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> Embeddings:
    """Read the shards of a table of embeddings, in the order given, as one tensor.

    Raises TableError that names file and image for a value that is not a finite number, an image with two embeddings,
    and files of different sizes of embedding.
    """
    files = [str(paths)] if isinstance(paths, (str, os.PathLike)) else [str(path) for path in paths]
    ids: list[str] = []
    values: list[Tensor] = []
    for path in files:
        table = read_table(path, _kind_of(path))
        names = table["image_id"].to_pylist()
        column = table["embedding"].combine_chunks()
        array = column.flatten().to_numpy(zero_copy_only=False).reshape(len(names), column.type.list_size)
        _check_finite(array, names, path)
        if values and array.shape[1] != values[0].shape[1]:
            raise TableError(
                f"{path} has embeddings of {array.shape[1]} dimensions, {files[0]} of {values[0].shape[1]}"
            )
        ids += names
        values.append(torch.from_numpy(array.astype(np.float32)))
    if not values:
        raise TableError("no file of embeddings was given")
    return Embeddings(ids, torch.cat(values), files)


def embedding_rows(ids: pa.ChunkedArray, values: np.ndarray, kind: Kind, path: str | os.PathLike[str]) -> pa.Table:
    """Embeddings (n, d) as rows of a table; TableError names the image whose values that table cannot hold."""
    stored = kind.columns["embedding"].type
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(values, dtype=stored.value_type.to_pandas_dtype())
    _check_finite(array, ids.to_pylist(), path)
    return pa.table(
        {"image_id": ids, "embedding": pa.FixedSizeListArray.from_arrays(pa.array(array.reshape(-1)), type=stored)}
    )


def _kind_of(path: str) -> Kind:
    if not Path(path).is_file():
        raise TableError(f"{path}: no such file of embeddings")
    schema = pq.read_schema(path)
    stored = schema.field("embedding").type if "embedding" in schema.names else pa.null()
    for precision in ("float16", "float32"):
        if pa.types.is_fixed_size_list(stored):
            kind = embeddings_kind(stored.list_size, precision)
            if kind.columns["embedding"].type.equals(stored):
                return kind
    raise TableError(f"{path} is no table of embeddings; it has the columns {', '.join(schema.names)}")


def _check_finite(values: np.ndarray, ids: Sequence[str], path: str | os.PathLike[str]) -> None:
    wrong = ~np.isfinite(values).all(axis=1)
    if wrong.any():
        first = int(wrong.argmax())
        raise TableError(
            f"{path}: the embedding of image {ids[first]!r} has a value that is not a finite {values.dtype} "
            f"({int(wrong.sum())} of {len(ids)} embeddings have)"
        )
