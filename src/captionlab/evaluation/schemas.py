"""Tables of the evaluation stage: measures of captioners in their roles, and differences between roles."""

import pyarrow as pa

from captionlab.storage.schemas import CAPTIONER, CORPUS, IMAGE_ID, SUMMARY
from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _DOUBLE = pa.string(), pa.int32(), pa.float64()
_PLACE = {
    "experiment": Column(_STRING, "generated: captions of captioners; else how captions were constructed"),
    "subject": Column(_STRING, "role of the captioners; nouns or others, when words are replaced; model of a template"),
    "source": Column(_STRING, "where a template comes from: published or mined", nullable=True),
    "level": Column(_DOUBLE, "share of words replaced, 0 to 1, or number of nouns", nullable=True),
    "corpus": CORPUS,
    "measure": Column(_STRING, "score, a metric, or a share in per cent; metrics and scores as they are printed"),
    "scorer": Column(_STRING, "the paper's name of the scorer", nullable=True),
}
_MEASURED = {
    "ci_low": Column(_DOUBLE, "lower end of the 95 % interval, over images and seeds"),
    "ci_high": Column(_DOUBLE, "upper end of the interval"),
    "seeds": Column(_INT, "trainings that the value is a mean of"),
    "n": Column(_INT, "images, or captions where images were ablated: of the captioner with fewer"),
}
ROLE_VALUES = TableSchema(
    "values of roles",
    "a measure of the captions of a role, or of constructed captions",
    tuple(_PLACE),
    **_PLACE,
    value=Column(_DOUBLE, "mean over seeds of the value on all images, geometric for perplexity"),
    **_MEASURED,
)
ROLE_DIFFERENCES = TableSchema(
    "differences between roles",
    "a difference between two values of a measure, or between a value and a fixed value",
    (*_PLACE, "against"),
    **_PLACE,
    against=Column(_STRING, "name of the value that is subtracted: a role, a construction, a layer or a fixed value"),
    own=Column(
        pa.bool_(),
        "whether the template has the name of the scorer; missing without a template",
        nullable=True,
    ),
    difference=Column(_DOUBLE, "mean over seeds of the difference; for perplexity, the difference of geometric means"),
    margin=Column(
        _DOUBLE, "value of a nearness or non-inferiority if there is no difference; missing for others", nullable=True
    ),
    **_MEASURED,
)
SLICED_BY = Column(_STRING, "scene, object, length, or the name of a column of the user's file")
SLICE = Column(_STRING, "a scene, a class of objects, a range of lengths in words, or a value of the column")
SLICED_IMAGES = TableSchema(
    "images of slices",
    "an image in a slice",
    ("corpus", "by", "slice", "image_id"),
    corpus=CORPUS,
    by=SLICED_BY,
    slice=SLICE,
    image_id=IMAGE_ID,
)
_OF_SUMMARY = ("corpus", "split", "evaluation", "decoding", "retriever", "candidates", "metric")
SLICES = TableSchema(
    "values of slices",
    "a metric of a captioner on a slice of a corpus",
    ("captioner", "corpus", "evaluation", "retriever", "candidates", "metric", "by", "slice"),
    captioner=CAPTIONER,
    **{name: SUMMARY.columns[name] for name in _OF_SUMMARY},
    by=SLICED_BY,
    slice=SLICE,
    rank=Column(_INT, "rank among the slices of the captioner, corpus and metric, from 1, the worst"),
    value=Column(_DOUBLE, "value on the images of the slice"),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images"),
    ci_high=Column(_DOUBLE, "upper end of the interval"),
    difference=Column(
        _DOUBLE, "value less the value on the rest of the images; missing if the rest is too small", True
    ),
    difference_low=Column(_DOUBLE, "lower end of the 95 % interval of the difference", True),
    difference_high=Column(_DOUBLE, "upper end of the interval of the difference", True),
    p_value=Column(_DOUBLE, "two-sided, of the difference", True),
    p_holm=Column(_DOUBLE, "p-value with Holm's correction for the slices of the captioner, corpus and metric", True),
    test=Column(_STRING, "Welch, Student or Fisher", True),
    n=Column(_INT, "images of the slice"),
    rest=Column(_INT, "images outside of the slice; by length, images with a caption of another length"),
)
