"""Schemas of the tables of the study stage."""

import pyarrow as pa

from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _DOUBLE, _BOOL = pa.string(), pa.int32(), pa.float64(), pa.bool_()
_BLOCK = Column(_INT, "block of screens that one participant sees, from 1; 0 is the example")
_QUESTION = Column(_INT, "rank of the screen in its block, from 1; 0 is the example")
_STIMULUS = Column(_STRING, "name of the set of images")
_CAPTION_TYPE = Column(_STRING, "captioner of the caption")
_LOW, _HIGH = Column(_DOUBLE, "lower end of the 95 % interval"), Column(_DOUBLE, "upper end of the interval")

STIMULI = TableSchema(
    "stimuli",
    "a screen of the study: a caption above ten images",
    ("block", "question"),
    block=_BLOCK,
    question=_QUESTION,
    role=Column(_STRING, "question, control or example"),
    stimulus=_STIMULUS,
    caption_type=_CAPTION_TYPE,
    caption=Column(_STRING, "text"),
    target=Column(_STRING, "image that the caption describes"),
    position=Column(_INT, "place of the target on the screen, from 1"),
    images=Column(pa.list_(_STRING), "images in the order of the screen, row by row"),
    similarities=Column(
        pa.list_(_DOUBLE), "cosine of each image with the target, by the encoder that found the images"
    ),
)
ANSWERS = TableSchema(
    "answers",
    "an answer of a participant",
    ("participant", "block", "question"),
    participant=Column(_STRING, "participant code"),
    block=_BLOCK,
    question=_QUESTION,
    role=Column(_STRING, "question or control"),
    stimulus=_STIMULUS,
    caption_type=_CAPTION_TYPE,
    chosen=Column(_STRING, "image that was chosen"),
    correct=Column(_BOOL, "is it the target?"),
    excluded=Column(_BOOL, "does the participant not count: more than one control missed"),
    source=Column(_STRING, "web, psychopy or simulated"),
)
PARTICIPANTS = TableSchema(
    "participants",
    "a participant in a block",
    ("participant", "block"),
    participant=Column(_STRING, "participant code"),
    block=_BLOCK,
    answers=Column(_INT, "screens answered, controls included"),
    controls=Column(_INT, "controls answered"),
    controls_missed=Column(_INT, "controls answered wrongly"),
    excluded=Column(_BOOL, "more than one control missed"),
)
ACCURACY = TableSchema(
    "accuracy of people",
    "how often participants find the image by captions of one type",
    ("caption_type",),
    caption_type=_CAPTION_TYPE,
    value=Column(_DOUBLE, "share of right answers, %"),
    ci_low=_LOW,
    ci_high=_HIGH,
    answers=Column(_INT, "answers"),
    participants=Column(_INT, "participants who gave answers"),
    stimuli=Column(_INT, "sets of images in these answers"),
)
PAIRWISE = TableSchema(
    "differences between caption types",
    "a type of captions against another, over the same participants and sets of images",
    ("caption_type", "against"),
    caption_type=_CAPTION_TYPE,
    against=Column(_STRING, "captioner whose accuracy is subtracted"),
    difference=Column(_DOUBLE, "percentage points"),
    ci_low=_LOW,
    ci_high=_HIGH,
    p_value=Column(_DOUBLE, "two-sided, bootstrap over participants and sets; not corrected, as the interval is not"),
)
AGREEMENT = TableSchema(
    "agreement of participants",
    "how far participants who see the same screen choose the same image",
    ("caption_type", "measure"),
    caption_type=Column(_STRING, "captioner of the captions, or all captioners together"),
    measure=Column(_STRING, "pairs: share of pairs of participants who agree; kappa: agreement beyond chance"),
    value=Column(_DOUBLE, "its value; missing where no screen was answered twice", nullable=True),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over screens", nullable=True),
    ci_high=Column(_DOUBLE, "upper end of the interval", nullable=True),
    screens=Column(_INT, "screens that at least two participants answered"),
)
