"""CHAIR: objects that captions name although their images lack them, and the share of annotated objects that they name.

Rohrbach et al. 2018, "Object Hallucination in Image Captioning", section 2.1, and the authors' code
(github.com/LisaAnne/Hallucination, utils/chair.py). CHAIRi is the share of mentions of objects that are hallucinated.
CHAIRs is the share of captions with a hallucinated mention. A list of categories says which words name which object
(captionlab.evaluation.categories).
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.categories import Categories, Mention, load_categories
from captionlab.evaluation.inputs import MetricInputs, Row
from captionlab.evaluation.summary import (
    LOWER,
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    counted_values,
    mean,
)
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

_NAMES, _COUNTS = pa.list_(pa.string()), pa.list_(pa.int32(), 2)
SCORES = TableSchema(
    "objects that captions name",
    "a caption and the objects that it names",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    words=Column(_NAMES, "words that name an object, as written but in lower case, in their order"),
    categories=Column(_NAMES, "category of each word"),
    hallucinated=Column(
        pa.list_(pa.bool_()), "whether each category is absent from annotations and references of the image"
    ),
    annotated=Column(_NAMES, "categories of the objects annotated in the image"),
    referenced=Column(_NAMES, "categories that its references name"),
    mentions=Column(_COUNTS, "number of words that name an object, and number of hallucinated ones"),
    with_hallucination=Column(pa.int32(), "1 if a word is hallucinated, else 0"),
    recall=Column(_COUNTS, "number of annotated categories, and number of annotated categories that the caption names"),
)

logger = logging.getLogger(__name__)


def share(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return the second (...) of two counts (..., 2) as a share of the first, or 0 if the first is 0."""
    return np.divide(sums[..., 1], sums[..., 0], out=np.zeros(sums.shape[:-1]), where=sums[..., 0] > 0)


METRICS = {
    "CHAIRi": Metric("mentions", share, PER_CENT, share=True, better=LOWER),
    "CHAIRs": Metric("with_hallucination", mean, PER_CENT, share=True, better=LOWER),
    "object recall": Metric("recall", share, PER_CENT, share=True),
}


def score(inputs: MetricInputs) -> Iterator[dict[str, Any]]:
    """Yield the columns of SCORES, corpus by corpus. A corpus without annotated objects is left out and logged.

    Raises ValueError if every corpus is left out.
    """
    left_out, categories = [], load_categories(inputs.settings["objects"], inputs.inputs["categories"])
    for corpus in inputs.corpora:
        images = {row["image_id"] for row in inputs.tags[corpus]}
        objects = [row for row in inputs.objects[corpus] if row["image_id"] in images]
        annotated = of_labels(corpus, objects, categories)
        if not annotated:
            left_out.append(corpus)
            logger.warning("%s is left out: no image that is captioned has an annotated object", corpus)
            continue
        if bare := len(images - annotated.keys()):
            said = "images have no annotated object and are judged by their references alone"
            logger.warning("%s: %d of %d %s", corpus, bare, len(images), said)
        columns = judged(inputs.tags[corpus], inputs.reference_tags[corpus], annotated, categories)
        if not any(columns["words"]):
            logger.warning("%s: no caption names an object, so CHAIRi is 0", corpus)
        yield columns
    if len(left_out) == len(inputs.corpora):
        raise ValueError(
            f"CHAIR needs annotated objects of the categories {inputs.settings['objects']!r}, and "
            f"{', '.join(left_out)} have none; take `objects` out of the evaluation, name there the "
            "list that their labels are of, or add a "
            "corpus with objects, as one of COCO with `instances`"
        )


def of_labels(corpus: str, objects: Sequence[Row], categories: Categories) -> dict[str, list[str]]:
    """Return the categories of the annotated objects of each image, sorted, from rows of OBJECTS.

    Labels without a category are left out and logged.
    """
    found: dict[str, set[str]] = defaultdict(set)
    unknown: Counter[str] = Counter()
    for row in objects:
        if category := categories.of_label(row["label"]):
            found[row["image_id"]].add(category)
        else:
            unknown[row["label"]] += 1
    if unknown:
        most = ", ".join(f"{label!r}" for label, _ in unknown.most_common(5))
        logger.warning("%s: %d objects are of no category, most of them %s", corpus, unknown.total(), most)
    return {image: sorted(names) for image, names in found.items()}


def judged(
    captions: Sequence[Row], references: Sequence[Row], annotated: Mapping[str, Sequence[str]], categories: Categories
) -> dict[str, list[Any]]:
    """Return the columns of SCORES for the captions of a corpus. Captions and references are rows of TAGGED.

    A mention is hallucinated if the image has no annotated object of its category and no reference of the image
    mentions the category. Both are needed because annotators and people overlook objects. As in the authors' code, an
    object that a caption names twice counts twice. An image without annotated objects is judged by its references
    alone.
    """
    referenced: dict[str, set[str]] = defaultdict(set)
    for row in references:
        referenced[row["image_id"]].update(mention.category for mention in _mentions(row, categories))
    columns: dict[str, list[Any]] = {name: [] for name in SCORES.columns}
    for row in captions:
        found, image = _mentions(row, categories), row["image_id"]
        there, named = annotated.get(image, []), {mention.category for mention in found}
        wrong = [mention.category not in {*there, *referenced[image]} for mention in found]
        values = {
            **{name: row[name] for name in CAPTION_KEY},
            "words": [mention.words for mention in found],
            "categories": [mention.category for mention in found],
            "hallucinated": wrong,
            "annotated": there,
            "referenced": sorted(referenced[image]),
            "mentions": [len(found), sum(wrong)],
            "with_hallucination": int(any(wrong)),
            "recall": [len(there), len(named & {*there})],
        }
        for name, value in values.items():
            columns[name].append(value)
    return columns


def _mentions(row: Row, categories: Categories) -> list[Mention]:
    return categories.mentions(row["words"], row["tags"])


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus."""
    return caption_results(job, read_table(path, SCORES), seed, METRICS)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield the metrics of single captions, 0 to 1; 0 if the caption names no object, or its image has none."""
    yield from counted_values(read_table(path, SCORES), METRICS)
