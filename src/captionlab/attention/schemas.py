"""Schemas of the tables of the attention stage."""

import pyarrow as pa

from captionlab.storage.schemas import IMAGE_ID, ROLE, SCENE
from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _FLOAT, _DOUBLE = pa.string(), pa.int32(), pa.float32(), pa.float64()
_LAYER = Column(_INT, "layer of the captioner, from 1")
_RELATION = Column(_STRING, "vision-vision, label-vision, vision-label (query-key), or all three together")

# Kinds of attending and attended positions: the sub-blocks that Cafagna et al. 2022 mark in Figure 3.
RELATIONS = {
    "vision-vision": ("regions", "regions"),
    "label-vision": ("tags", "regions"),
    "vision-label": ("regions", "tags"),
}
ALL = "all"  # all three together (Figure 4)

BLOCKS = TableSchema(
    "attention blocks",
    "a relation between tags and regions in an image",
    ("image_id", "layer", "relation"),
    image_id=IMAGE_ID,
    layer=_LAYER,
    relation=_RELATION,
    deviation=Column(_DOUBLE, "standard deviation of the attention values, each the maximum over heads"),
    mass=Column(_DOUBLE, "sum of the attention values"),
    values=Column(_INT, "number of attention values"),
)
RECEIVED = TableSchema(
    "attention to tags",
    "a tag of an image",
    ("image_id", "tag_index"),
    image_id=IMAGE_ID,
    tag_index=Column(_INT, "rank of the tag in its image, from 0"),
    label=Column(_STRING, "name of the object"),
    attention=Column(
        _DOUBLE, "attention (maximum over heads) that its word pieces receive, mean over tags and regions that attend"
    ),
)
SHARES = TableSchema(
    "attention to special tokens",
    "the attention of a kind of positions of an image to a kind of special tokens in a layer",
    ("image_id", "layer", "attending", "target"),
    image_id=IMAGE_ID,
    layer=_LAYER,
    attending=Column(_STRING, "caption, tags, regions or special"),
    target=Column(_STRING, "[CLS], [SEP] or [PAD]"),
    share=Column(_DOUBLE, "of all attention; missing where the image has no such position", nullable=True),
)
MATRICES = TableSchema(
    "attention matrices",
    "the attention among the tags and regions of an image in a layer",
    ("image_id", "layer"),
    image_id=IMAGE_ID,
    layer=_LAYER,
    caption=Column(_STRING, "the captioner's caption of the image"),
    positions=Column(pa.list_(_STRING), "word pieces of the tags, the end token, and numbers of the regions"),
    attention=Column(pa.list_(_FLOAT), "maximum over heads, a row of keys for each query"),
)
DENSITIES = TableSchema(
    "attention densities",
    "a point of the plane of deviation and mass",
    ("captioner", "relation", "deviation", "mass"),
    captioner=ROLE,
    relation=_RELATION,
    deviation=Column(_DOUBLE, "standard deviation of the attention values of an image"),
    mass=Column(_DOUBLE, "sum of the attention values of an image"),
    density=Column(_DOUBLE, "Gaussian kernels, Scott's bandwidth"),
    enclosed=Column(_DOUBLE, "share of the total density at points with at least this density"),
)
DIFFERENCES = TableSchema(
    "attention differences",
    "a statistic of a relation before and after finetuning, on the same images",
    ("relation", "statistic"),
    relation=_RELATION,
    statistic=Column(_STRING, "deviation or mass"),
    pretrained=Column(_DOUBLE, "mean over images"),
    finetuned=Column(_DOUBLE, "mean over images"),
    difference=Column(_DOUBLE, "finetuned minus pretrained"),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images"),
    ci_high=Column(_DOUBLE, "upper end of the interval"),
    p_value=Column(_DOUBLE, "two-sided, paired bootstrap"),
    n=Column(_INT, "images"),
)
RANKINGS = TableSchema(
    "rankings of objects",
    "an object of a scene",
    ("ranking", "scene", "rank"),
    ranking=Column(
        _STRING, "pretrained or finetuned: by its attention; uniform: the same to every tag; frequent: by images"
    ),
    scene=SCENE,
    rank=Column(_INT, "from 1"),
    label=Column(_STRING, "name of the object"),
)
OVERLAPS = TableSchema(
    "overlap of rankings",
    "the objects of a scene ranked by attention against the objects ranked by frequency, down to a depth",
    ("captioner", "scene", "depth"),
    captioner=Column(_STRING, "pretrained or finetuned; uniform: the same attention to every tag"),
    scene=SCENE,
    depth=Column(_INT, "objects of each ranking"),
    rank_biased_overlap=Column(_DOUBLE, "average overlap, 0 to 1"),
    rank_biased_overlap_ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images"),
    rank_biased_overlap_ci_high=Column(_DOUBLE, "upper end of the interval"),
    intersection_over_union=Column(_DOUBLE, "0 to 1"),
    intersection_over_union_ci_low=Column(_DOUBLE, "lower end of the 95 % interval, over images"),
    intersection_over_union_ci_high=Column(_DOUBLE, "upper end of the interval"),
    attended=Column(_INT, "images of the scene whose attention is read"),
    counted=Column(_INT, "images of the scene whose objects are counted"),
)
CORRELATIONS = TableSchema(
    "correlation of two overlaps",
    "a captioner",
    ("captioner",),
    captioner=ROLE,
    r=Column(_DOUBLE, "Pearson's, over scenes and depths; missing where one is constant", nullable=True),
    degrees=Column(_INT, "degrees of freedom"),
    p_value=Column(_DOUBLE, "two-sided", nullable=True),
)
