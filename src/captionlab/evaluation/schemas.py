"""Tables of the evaluation stage: measures of captioners in their roles, and differences between roles."""

import pyarrow as pa

from captionlab.storage.schemas import CORPUS
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
