"""Tables of the judgements stage: judged captions, ratings, preferences, and the agreement of metrics with people."""

import pyarrow as pa

from captionlab.storage.schemas import CAPTION_INDEX, IMAGE_ID
from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _DOUBLE = pa.string(), pa.int32(), pa.float64()
_KEY = {"image_id": IMAGE_ID, "caption_index": CAPTION_INDEX}

CANDIDATES = TableSchema(
    "judged captions",
    "a caption that people judged",
    tuple(_KEY),
    **_KEY,
    caption=Column(_STRING, "text as in the published file"),
    source=Column(
        _STRING, "who wrote a rated caption, or about what; missing if the file does not tell", nullable=True
    ),
    judgements=Column(_INT, "ratings of the caption, or pairs that it stands in; each is a document of CIDEr's idf"),
)
RATINGS = TableSchema(
    "ratings",
    "a rating of a caption by a judge",
    (*_KEY, "judge"),
    **_KEY,
    judge=Column(_STRING, "name of the judge by the reader; a single name if only a mean is published"),
    rating=Column(_DOUBLE, "higher is better, on the scale of the published file"),
)
PREFERENCES = TableSchema(
    "preferences",
    "two captions of an image, and how many people preferred which",
    (*_KEY, "other_index"),
    **_KEY,
    other_index=Column(_INT, "rank of the other caption among the captions of the image, from 0"),
    votes=Column(_INT, "people who preferred the caption"),
    other_votes=Column(_INT, "people who preferred the other"),
    category=Column(
        _STRING, "kind of the pair: HC, HI, HM or MM of Pascal-50S, or what a foil changes; missing for one kind", True
    ),
    tie=Column(_STRING, "name that two pairs share whose captions are about two images; missing elsewhere", True),
)
_WHO = {
    "metric": Column(_STRING, "metric as the field prints it"),
    "scorer": Column(_STRING, "encoder or scorer of the config that scores; missing for other metrics", nullable=True),
}
_OF = {
    "coefficient": Column(_STRING, "tau-b, tau-c or Pearson, with ratings; accuracy, on preferences"),
    "category": Column(_STRING, "kind of the pairs; missing for all judgements", nullable=True),
}
_COUNTS = {
    "images": Column(_INT, "images that captions were judged for"),
    "n": Column(_INT, "ratings, or pairs of captions"),
}
CORRELATIONS = TableSchema(
    "agreement with people",
    "a coefficient of a metric on judgements of the captions that it scored",
    (*_WHO, *_OF),
    **_WHO,
    **_OF,
    value=Column(_DOUBLE, "-1 to 1; a share of the pairs for accuracy; missing if it is not defined", nullable=True),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images; missing for one image", nullable=True),
    ci_high=Column(_DOUBLE, "upper end of the interval", nullable=True),
    **_COUNTS,
    note=Column(_STRING, "how many captions have no score, and why a value or interval is missing", nullable=True),
)
DIFFERENCES = TableSchema(
    "differences in agreement with people",
    "a coefficient of a metric against another's on judgements of the captions that both scored",
    (*_WHO, "against", "against_scorer", *_OF),
    **_WHO,
    against=Column(_STRING, "metric whose value is subtracted"),
    against_scorer=Column(_STRING, "who scores that", nullable=True),
    **_OF,
    difference=Column(_DOUBLE, "value minus the other's"),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images; missing for one image", nullable=True),
    ci_high=Column(_DOUBLE, "upper end of the interval", nullable=True),
    p_value=Column(
        _DOUBLE,
        "two-sided, of a paired bootstrap over images, below its smallest value of Student's t; missing for one image",
        nullable=True,
    ),
    p_holm=Column(
        _DOUBLE,
        "p-value with Holm's correction for all pairs of metrics of the coefficient and category",
        nullable=True,
    ),
    **_COUNTS,
)
_PIECE = {
    "category": Column(_STRING, "what the foils change; missing for the mean over categories", nullable=True),
    "measure": Column(_STRING, "acc_r, acc, p_c, p_f, AUROC, text score, image score or group score"),
}
_FOIL_COUNTS = {
    "images": Column(_INT, "images, or pairs of images that share their captions"),
    "n": Column(_INT, "pairs of a caption and a foil, or pairs of images"),
}
FOIL_MEASURES = TableSchema(
    "measures on foils",
    "a measure of how well a metric tells captions from their foils",
    (*_WHO, *_PIECE),
    **_WHO,
    **_PIECE,
    value=Column(_DOUBLE, "0 to 1; missing if it is not defined", nullable=True),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images; missing for one image", nullable=True),
    ci_high=Column(_DOUBLE, "upper end of the interval", nullable=True),
    **_FOIL_COUNTS,
    note=Column(_STRING, "how many pairs are left out, and why a value or interval is missing", nullable=True),
)
FOIL_DIFFERENCES = TableSchema(
    "differences on foils",
    "a measure of a metric less another metric's, or a measure on a category less the same measure on another category",
    (*_WHO, *_PIECE, "against", "against_scorer", "against_category"),
    **_WHO,
    **_PIECE,
    against=Column(_STRING, "metric whose value is subtracted"),
    against_scorer=Column(_STRING, "who scores that", nullable=True),
    against_category=Column(_STRING, "category whose value is subtracted", nullable=True),
    difference=Column(_DOUBLE, "value minus the other's"),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images", nullable=True),
    ci_high=Column(_DOUBLE, "upper end of the interval", nullable=True),
    **_FOIL_COUNTS,
)
SLICES = TableSchema(
    "agreement with people on slices of the rated captions",
    "a coefficient of a metric on ratings of the captions of a slice that it scored",
    (*_WHO, "by", "slice", "coefficient"),
    **_WHO,
    by=Column(_STRING, "property by which captions are sliced: length, or the source of a caption"),
    slice=Column(_STRING, "value of the property; lengths are in words"),
    coefficient=Column(_STRING, "tau-b, tau-c or Pearson"),
    value=Column(_DOUBLE, "-1 to 1; missing if it is not defined", nullable=True),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images", nullable=True),
    ci_high=Column(_DOUBLE, "upper end of the interval", nullable=True),
    **_COUNTS,
    note=Column(_STRING, "how many captions have no score, and why a value is missing", nullable=True),
)
