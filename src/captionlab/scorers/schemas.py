"""The table of a scorer's accuracy, in a module of its own so that reports need no torch."""

import pyarrow as pa

from captionlab.storage.tables import Column, TableSchema

MATCHING = TableSchema(
    "accuracy of a scorer",
    "a measure of a scorer on pairs of image and caption, one kind of negatives",
    ("negatives", "measure"),
    split=Column(pa.string(), "split of the images"),
    negatives=Column(pa.string(), "captions of random other images (random) or of similar images (hard)"),
    measure=Column(
        pa.string(),
        "accuracy: pairs, half of them matching, on the right side of one half; "
        "ranking: matching captions with a larger score than a negative of the same image",
    ),
    value=Column(pa.float64(), "share, 0 to 1"),
    ci_low=Column(pa.float64(), "lower end of the 95 % interval, over images"),
    ci_high=Column(pa.float64(), "upper end of the interval"),
    n=Column(pa.int32(), "images"),
)
