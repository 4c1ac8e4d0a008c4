"""Weights as they come with captionlab: in half precision, and of a table of words only the rows that somebody uses.

CLIP's table has 49,408 rows, of which captions of the toy world use a few hundred. The other rows are zeros when such a
file is read.
"""

import json
import os
from collections.abc import Iterable, Mapping

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from captionlab.files import replacing

# In the metadata of a file: by the name of a table how many rows it has in memory.
SIZES = "captionlab.rows"
# The numbers of the rows that a file has of a table are beside it, under its name and this.
KEPT = ".kept"


def write_compact(
    path: str | os.PathLike[str], weights: Mapping[str, Tensor], kept: Mapping[str, Iterable[int]]
) -> None:
    """Write weights in half precision; `kept` names tables and the rows of each that are written.

    Whole numbers stay as they are. ValueError for a number that half precision does not have.
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
    """Read a safetensors file; a table of which it has some rows gets all, zeros for the others.

    SafetensorError where the file is damaged, or lacks a table or the numbers of its rows.
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
