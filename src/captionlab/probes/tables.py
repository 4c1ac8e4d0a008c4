"""What later stages read of the tables of encodings."""

import os

import numpy as np

from captionlab.probes.schemas import encodings_schema
from captionlab.tables import read_schema, read_table


def read_encodings(path: str | os.PathLike[str]) -> tuple[dict[int, np.ndarray], dict[str, str]]:
    """Encodings (n, width) of the same n images by the number of removed objects, and the scene of each image."""
    size = read_schema(path).field("encoding").type.list_size
    table = read_table(path, encodings_schema(size))
    values = table["encoding"].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, size)
    objects = np.array(table["objects"].to_pylist())
    scenes = dict(zip(table["image_id"].to_pylist(), table["scene"].to_pylist(), strict=True))
    return {int(number): values[objects == number] for number in dict.fromkeys(objects.tolist())}, scenes
