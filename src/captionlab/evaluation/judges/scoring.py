"""Captions of an evaluation as candidates of a judge, and its judgements as rows of a table of scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.config.judges import Judge
from captionlab.evaluation.inputs import MetricInputs, Row
from captionlab.evaluation.judges.asking import Judgement
from captionlab.evaluation.judges.judge import Candidate
from captionlab.images.locations import LOCATION
from captionlab.storage.schemas import CAPTION_KEY, IMAGES
from captionlab.storage.tables import read_table


def candidates_of(inputs: MetricInputs, images: Sequence[str], config: Judge) -> list[Candidate]:
    """Return all captions, corpus by corpus, with what a judge reads: references, images, or both.

    `images` has the table of each corpus.
    """
    candidates = []
    for corpus, table in zip(inputs.corpora, images, strict=True):
        texts = inputs.texts[corpus] if config.reads_references else {}
        pictures = _pictures(table) if config.sees_images else {}
        candidates += [
            Candidate(row["caption"], texts.get(row["image_id"], ()), pictures.get(row["image_id"]))
            for row in inputs.captions[corpus]
        ]
    return candidates


def score_rows(judge: str, captions: Sequence[Row], judged: Sequence[Judgement]) -> list[Row]:
    """Return rows of captionlab.evaluation.metrics.judge.metric.SCORES: captions, in order, with what a judge says."""
    rows = []
    for caption, judgement in zip(captions, judged, strict=True):
        verdict = judgement.value
        rows.append(
            {
                **{name: caption[name] for name in CAPTION_KEY},
                "judge": judge,
                "score": verdict and verdict.score,
                "reason": verdict and verdict.reason,
                "smoothed": verdict is not None and verdict.smoothed,
                "questions": judgement.questions,
                "fault": judgement.fault,
            }
        )
    return rows


def _pictures(table: str) -> dict[str, Mapping[str, Any]]:
    """Return the rows of IMAGES by image id, as far as images are opened by them."""
    return {row["image_id"]: row for row in read_table(table, IMAGES, ["image_id", *LOCATION]).to_pylist()}
