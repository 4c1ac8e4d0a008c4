"""Tables of the comparisons stage: preferences of a model between two captions, and rankings of captioners."""

import pyarrow as pa

from captionlab.storage.schemas import CAPTIONER, CORPUS, IMAGE_ID
from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _DOUBLE = pa.string(), pa.int32(), pa.float64()
# Answers of the model.
FIRST, SECOND, TIE = "first", "second", "tie"
# Orders in which a model reads the captions of `captioner` and `against`.
OWN_FIRST, OWN_SECOND = "captioner first", "captioner second"
# Measures of rankings.
WIN_RATE, STRENGTH = "win rate", "strength"
AGREEMENT, FIRST_SHARE, TIES, UNANSWERED = "orders agree", "first preferred", "ties", "no answer"

PREFERENCES = TableSchema(
    "pairwise preferences",
    "a model's preference between the captions of two captioners for an image, read in one of both orders",
    ("corpus", "image_id", "captioner", "against", "order"),
    corpus=CORPUS,
    image_id=IMAGE_ID,
    captioner=CAPTIONER,
    against=Column(_STRING, "name of the other captioner in the config"),
    order=Column(_STRING, f"which caption the model read first: {OWN_FIRST} or {OWN_SECOND}"),
    asked=Column(pa.bool_(), "whether the model was asked; identical captions are a tie without a request"),
    answer=Column(
        _STRING, f"{FIRST}, {SECOND} or {TIE}, by the order that the model read; missing for no answer", nullable=True
    ),
    reason=Column(
        _STRING,
        "reason that the model states, or why there is no answer; missing for identical captions",
        nullable=True,
    ),
)
RANKINGS = TableSchema(
    "rankings by pairwise preferences",
    "a measure of a captioner, of two captioners, or of the model that compares",
    ("corpus", "measure", "captioner", "against"),
    corpus=CORPUS,
    measure=Column(
        _STRING,
        f"{WIN_RATE}: mean over images of the verdicts of both orders, a win is 1 and a tie is 1/2; {STRENGTH}: of "
        "Bradley and Terry, natural logarithm, mean 0 over captioners, with one tie added to every pair; "
        f"{AGREEMENT}: share of pairs of captions with the same verdict in both orders; {FIRST_SHARE}: share of the "
        "caption that was read first among answers that prefer a caption, 1/2 without a bias; "
        f"{TIES}: share of answers; {UNANSWERED}: share of requests",
    ),
    captioner=Column(_STRING, "name of the captioner; missing for measures of the model", nullable=True),
    against=Column(_STRING, f"other captioner of a {WIN_RATE}; missing for other measures", nullable=True),
    value=Column(_DOUBLE, "a share, 0 to 1, or a strength; missing if no image counts", nullable=True),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images; missing for one image", nullable=True),
    ci_high=Column(_DOUBLE, "upper end of the interval", nullable=True),
    images=Column(_INT, "images that count"),
    n=Column(_INT, "pairs of captions, answers or requests that count"),
)
