"""Questions answered from captions: the share of the questions about an image that its caption answers correctly.

An answerer (captionlab.questions.answerers) sees the caption and the question, and neither the image nor references. If
a caption does not say the answer, the question is not answered, and the answer is not correct. After CaptionQA (Yang et
al. 2025), whose questions have kinds.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.inputs import MetricInputs, Row
from captionlab.evaluation.summary import (
    NEITHER,
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    matrix,
    parts,
)
from captionlab.questions.answering import Answerer, ImageQuestions, build_answerer
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

_COUNTS = pa.list_(pa.int32(), 2)
SCORES = TableSchema(
    "answered questions",
    "a caption and a kind of questions about its image",
    (*CAPTION_KEY, "questions", "kind"),
    **CAPTION_KEY,
    questions=Column(pa.string(), "name of the set of questions in the config"),
    kind=Column(pa.string(), "kind of the questions"),
    correct=Column(_COUNTS, "number of questions, and number of questions that the caption answers correctly"),
    unanswered=Column(_COUNTS, "number of questions, and number of questions that the caption does not answer"),
)

logger = logging.getLogger(__name__)


def share(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return the second (...) of two counts (..., 2) as a share of the first, which is above 0."""
    return np.asarray(sums[..., 1] / sums[..., 0])


ACCURACY, UNANSWERED = "question accuracy", "unanswered questions"
METRICS = {
    ACCURACY: Metric("correct", share, PER_CENT, share=True),
    UNANSWERED: Metric("unanswered", share, PER_CENT, share=True, better=NEITHER),
}


def score(inputs: MetricInputs) -> Iterator[dict[str, Any]]:
    """Yield the columns of SCORES, by set of questions and corpus. Images without a question are left out and logged.

    Raises ValueError if no caption of a corpus is of an image with a question.
    """
    sets = inputs.settings["questions"]
    answerers = {name: build_answerer(block["answerer"], name) for name, block in sets.items()}
    places = [(name, corpus) for name, block in sets.items() for corpus in block["corpora"]]
    for (name, corpus), path in zip(places, inputs.inputs["questions"], strict=True):
        questions = ImageQuestions(path)
        rows = [row for row in inputs.captions[corpus] if row["image_id"] in questions]
        images = {row["image_id"] for row in inputs.captions[corpus]}
        asked = {row["image_id"] for row in rows}
        if not rows:
            raise ValueError(
                f"{path} has no question about the {len(images)} captioned images of {corpus}; take "
                f"`questions: {name}` out of the evaluation, or add questions about images of its split"
            )
        if asked != images:
            logger.warning("%s: %d of %d images have no question of %s", corpus, len(images - asked), len(images), name)
        yield columns(corpus, name, rows, questions, answerers[name])


def columns(
    corpus: str, name: str, rows: Sequence[Row], questions: ImageQuestions, answerer: Answerer
) -> dict[str, list[Any]]:
    """Return the columns of SCORES for captions (rows of GENERATED) of a corpus, by a set of questions."""
    outcomes = questions.outcomes(answerer, [row["image_id"] for row in rows], [row["caption"] for row in rows])
    scores: dict[str, list[Any]] = {column: [] for column in SCORES.columns}
    for row, of_caption in zip(rows, outcomes, strict=True):
        asked = Counter(kind for kind, _ in of_caption)
        correct = Counter(kind for kind, outcome in of_caption if outcome)
        unanswered = Counter(kind for kind, outcome in of_caption if outcome is None)
        for kind, number in sorted(asked.items()):
            key = {"corpus": corpus, "image_id": row["image_id"], "caption_index": row["caption_index"]}
            counts = {"correct": [number, correct[kind]], "unanswered": [number, unanswered[kind]]}
            for column, value in {**key, "questions": name, "kind": kind, **counts}.items():
                scores[column].append(value)
    return scores


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by set of questions and corpus: all questions, unanswered questions, and each kind.

    A set of questions takes the place of the model that scores. Intervals are over images.
    """
    for (name,), of_set in parts(read_table(path, SCORES), "questions"):
        set_results = [*caption_results(job, of_set, seed, METRICS)]
        for (kind,), of_kind in parts(of_set, "kind"):
            set_results += caption_results(job, of_kind, seed, {f"{ACCURACY}, {kind}": METRICS[ACCURACY]})
        yield from (replace(result, retriever=name) for result in set_results)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield the accuracy of single captions over all questions about their image, by set of questions."""
    for (name,), part in parts(read_table(path, SCORES), "questions"):
        keys = list(zip(*(part[column].to_pylist() for column in CAPTION_KEY), strict=True))
        sums: dict[Any, np.ndarray] = {}
        for key, counts in zip(keys, matrix(part["correct"]), strict=True):
            sums[key] = sums.get(key, 0) + counts
        values = share(np.array([*sums.values()]), np.ones(len(sums)))
        yield OfCaptions(ACCURACY, name, [*sums], values)
