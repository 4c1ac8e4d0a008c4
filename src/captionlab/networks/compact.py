"""Compact weights, as captionlab ships them: in half precision, with only the used rows of word embeddings.

CLIP's table of word embeddings has 49,408 rows, and captions of the toy world use a few hundred. Missing rows are zeros
when a compact file is read.
"""

import json
import os
from collections.abc import Iterable, Mapping

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from captionlab.storage.files import replacing

# Key of the metadata that has the full number of rows of each table, by its name.
SIZES = "captionlab.rows"
# Suffix of the tensor with the row numbers of a table.
KEPT = ".kept"


def write_compact(
    path: str | os.PathLike[str], weights: Mapping[str, Tensor], kept: Mapping[str, Iterable[int]]
) -> None:
    """Write weights in half precision. `kept` maps names of tables to the rows that are written.

    Integers are not converted. Raises ValueError for a number that is too large for half precision.
    """
    tensors, sizes = {}, {}
    for name, value in weights.items():
        if name in kept:
            rows = torch.tensor(sorted(set(kept[name])))
            tensors[name + KEPT], sizes[name], value = rows.int(), len(value), value[rows]
        half = value.half() if value.is_floating_point() else value
        if not half.isfinite().equal(value.isfinite()):
            raise ValueError(
                f"{name} has numbers beyond {torch.finfo(torch.half).max:g}, the largest of half precision"
            )
        tensors[name] = half.contiguous()
    with replacing(path) as partial:
        save_file(tensors, partial, {SIZES: json.dumps(sizes)})


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """Read a safetensors file. If it has only some rows of a table, the other rows are zeros.

    Raises SafetensorError if the file is damaged, or lacks a table or its row numbers.
    """
    with safe_open(path, "pt") as file:
        sizes = json.loads((file.metadata() or {}).get(SIZES, "{}"))
    tensors = load_file(path)
    for name, size in sizes.items():
        if not tensors.keys() >= {name, name + KEPT}:
            raise SafetensorError(f"{name} or {name + KEPT} is missing")
        rows, kept = tensors[name], tensors.pop(name + KEPT).long()
        tensors[name] = rows.new_zeros(size, *rows.shape[1:]).index_copy_(0, kept, rows)
    return tensors
