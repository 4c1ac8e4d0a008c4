"""Schemas of the tables of the ablation stage."""

import pyarrow as pa

from captionlab.storage.schemas import IMAGE_ID, REMOVED, ROLE, SCENE
from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _DOUBLE = pa.string(), pa.int32(), pa.float64()

LABELS = TableSchema(
    "scene labels",
    "a noun of the scene captions of an image",
    ("image_id", "scene"),
    image_id=IMAGE_ID,
    split=Column(_STRING, "split of the image"),
    scene=Column(_STRING, "lemma of the noun"),
    captions=Column(_INT, "scene captions of the image with the noun"),
)
CHOSEN = TableSchema(
    "chosen scenes",
    "a scene that is studied",
    ("scene",),
    scene=SCENE,
    rank=Column(_INT, "rank by images, from 1, or place in the list of the config"),
    images=Column(_INT, "images of all splits that depict the scene"),
)
PMI = TableSchema(
    "information of objects",
    "an object in images of a scene",
    ("scene", "label"),
    scene=SCENE,
    rank=Column(_INT, "rank by information, from 1"),
    label=Column(_STRING, "name of the object"),
    pmi=Column(_DOUBLE, "pointwise mutual information of object and scene, nats"),
    together=Column(_INT, "images of the scene with the object"),
    with_object=Column(_INT, "images with the object"),
    with_scene=Column(_INT, "images of the scene"),
)
MATCHES = TableSchema(
    "tagged regions",
    "a region of an image that shows a tagged object",
    ("image_id", "region_index", "tag_index"),
    image_id=IMAGE_ID,
    region_index=Column(_INT, "rank of the region in its image, from 0"),
    tag_index=Column(_INT, "rank of the tag in its image, from 0"),
    overlap=Column(_DOUBLE, "intersection over union of the two boxes"),
    inside=Column(_DOUBLE, "share of the region's area inside the tag's box"),
)
COVERAGE = TableSchema(
    "coverage of regions",
    "an image",
    ("image_id",),
    image_id=IMAGE_ID,
    regions=Column(_INT, "regions that are read"),
    tagged=Column(_INT, "regions that show a tagged object"),
)
ABLATED = TableSchema(
    "captions of ablated images",
    "an image of a scene, whole or without some of its objects",
    ("image_id", "scene", "objects"),
    image_id=IMAGE_ID,
    split=Column(_STRING, "split of the image"),
    scene=Column(_STRING, "scene whose objects were removed; empty if none were removed"),
    objects=REMOVED,
    labels=Column(pa.list_(_STRING), "names of the removed objects"),
    caption=Column(_STRING, "text"),
    log_prob=Column(_DOUBLE, "sum of the log-probabilities of its tokens, nats"),
    confidence=Column(_DOUBLE, "geometric mean of the token probabilities, end included"),
)
EFFECTS = TableSchema(
    "effects of ablation",
    "a number about captions before and after objects are removed",
    ("captioner", "split", "objects", "statistic"),
    captioner=ROLE,
    split=Column(_STRING, "split of the images"),
    objects=Column(_INT, "how many objects were removed; 0: 1, 2, ... taken together"),
    statistic=Column(
        _STRING, "changed: share of captions; confidence (of unchanged ones, after) and shift: before minus after"
    ),
    value=Column(_DOUBLE, "mean over samples; missing without samples", nullable=True),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images", nullable=True),
    ci_high=Column(_DOUBLE, "upper end of the interval", nullable=True),
    deviation=Column(_DOUBLE, "standard deviation over samples", nullable=True),
    n=Column(_INT, "samples: images with their scene"),
)
SPLITS = TableSchema(
    "comparison of splits",
    "the confidence shifts of a captioner on two splits",
    ("captioner", "split", "against"),
    captioner=ROLE,
    split=Column(_STRING, "a split"),
    against=Column(_STRING, "another split"),
    z=Column(_DOUBLE, "difference of the mean shifts in standard errors; missing without samples", nullable=True),
    p_value=Column(_DOUBLE, "two-sided", nullable=True),
)
