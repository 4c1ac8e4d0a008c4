"""Schemas of the tables of the probes stage."""

import os

import numpy as np
import pyarrow as pa

from captionlab.storage.schemas import IMAGE_ID, REMOVED, ROLE
from captionlab.storage.tables import Column, TableSchema, read_schema, read_table

_STRING, _INT, _LONG, _DOUBLE = pa.string(), pa.int32(), pa.int64(), pa.float64()
_PROBE = Column(_STRING, "random-forest, mlp or random")

SCORES = TableSchema(
    "scores of probes",
    "an F1 of a probe that was trained on a split drawn with a seed",
    ("captioner", "objects", "probe", "classes", "test_share", "seed", "average", "scene"),
    captioner=ROLE,
    objects=REMOVED,
    probe=_PROBE,
    classes=Column(_STRING, "scenes, or shuffled: the control task"),
    test_share=Column(_DOUBLE, "share of the images that are tested"),
    seed=Column(_LONG, "seed of split and probe"),
    average=Column(_STRING, "micro, macro, weighted, or class: of one scene"),
    scene=Column(_STRING, "the scene; empty for an average"),
    f1=Column(_DOUBLE, "0 to 1"),
    support=Column(_INT, "tested images, of the scene or all"),
)
OBJECT_SCORES = TableSchema(
    "scores of probes of objects",
    "an F1 of a probe of whole images that was trained on a split drawn with a seed",
    ("captioner", "probe", "classes", "test_share", "seed", "average", "label"),
    captioner=ROLE,
    probe=Column(_STRING, "random-forest or random"),
    classes=Column(_STRING, "objects, or shuffled: the control task"),
    test_share=Column(_DOUBLE, "share of the images that are tested"),
    seed=Column(_LONG, "seed of split and probe"),
    average=Column(_STRING, "micro, macro, or object: of one object"),
    label=Column(_STRING, "name of the object; empty for an average"),
    f1=Column(_DOUBLE, "0 to 1"),
    support=Column(_INT, "tested images with the object; for an average, the sum over objects"),
)
SEARCH = TableSchema(
    "settings of the neural probe",
    "settings that were tried on the states of a captioner, or the settings of the paper if there is no search",
    ("captioner", "rank"),
    captioner=ROLE,
    rank=Column(_INT, "rank by macro F1, from 1; rank 1 was chosen"),
    hidden=Column(pa.list_(_INT), "units of each hidden layer"),
    alpha=Column(_DOUBLE, "strength of the L2 penalty"),
    macro_f1=Column(
        _DOUBLE,
        "mean over a cross-validation in the training part of a split, 0 to 1; null without a search",
        nullable=True,
    ),
)


def encodings_schema(dimensions: int) -> TableSchema:
    """Return the schema of a table of image encodings with `dimensions` numbers."""
    return TableSchema(
        "encodings of scenes",
        "the encoding of an image by a captioner, whole or without some of its objects",
        ("image_id", "objects"),
        image_id=IMAGE_ID,
        scene=Column(_STRING, "the scene that most of its captions name"),
        objects=REMOVED,
        encoding=Column(pa.list_(pa.float32(), dimensions), "mean of the last states of tags and regions"),
    )


def read_encodings(path: str | os.PathLike[str]) -> tuple[dict[int, np.ndarray], dict[str, str]]:
    """Return encodings (n, width) of the same n images by number of removed objects, and the scene of each image."""
    size = read_schema(path).field("encoding").type.list_size
    table = read_table(path, encodings_schema(size))
    values = table["encoding"].combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, size)
    objects = np.array(table["objects"].to_pylist())
    scenes = dict(zip(table["image_id"].to_pylist(), table["scene"].to_pylist(), strict=True))
    return {int(number): values[objects == number] for number in dict.fromkeys(objects.tolist())}, scenes
