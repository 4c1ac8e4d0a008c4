"""How well a scorer tells captions of an image from captions of others, on images that it was not trained on."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from captionlab.intervals import resampled_sums, share_interval
from captionlab.progress import progress
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.schemas import MATCHING
from captionlab.scorers.scorer import NetworkScorer
from captionlab.training.objectives.itm import Negatives

# Images whose captions are scored together.
CHUNK = 64


def examine(
    scorer: NetworkScorer,
    images: ScorerImages,
    ids: Sequence[str],
    captions: Sequence[Sequence[str]],
    negatives: Negatives,
    split: str,
    seed: int,
) -> dict[str, list[Any]]:
    """Columns of a table of MATCHING: each caption of the images `ids` against one random and one hard negative."""
    generator = np.random.default_rng(seed)
    drawn = {
        kind: [
            [negatives.draw(row, kind == "hard", generator) for _ in of_image] for row, of_image in enumerate(captions)
        ]
        for kind in ("random", "hard")
    }
    scores: dict[str, list[np.ndarray]] = {"match": [], "random": [], "hard": []}
    for start in progress(range(0, len(ids), CHUNK), "parts of the images"):
        visual = images.visual(ids[start : start + CHUNK])
        for kind, texts in {"match": captions, **drawn}.items():
            part = texts[start : start + CHUNK]
            rows = [row for row, of_image in enumerate(part) for _ in of_image]
            flat = [caption for of_image in part for caption in of_image]
            scores[kind].append(scorer.score(visual, flat, rows).double().cpu().numpy())
    match = np.concatenate(scores["match"])
    image = np.repeat(np.arange(len(ids)), [len(of_image) for of_image in captions])
    half = scorer.matching.scale / 2
    found: list[tuple[Any, ...]] = []
    for kind in ("random", "hard"):
        other = np.concatenate(scores[kind])
        right = {"accuracy": ((match > half).astype(float) + (other <= half)) / 2, "ranking": match > other}
        for measure, hits in right.items():
            of_images = np.stack([np.bincount(image, hits, len(ids)), np.bincount(image, minlength=len(ids))], axis=1)
            sums = resampled_sums(of_images, seed)
            share, variance = float(hits.mean()), float(np.var(sums[:, 0] / sums[:, 1]))
            interval = share_interval(share, variance, len(ids), len(hits))
            found.append((split, kind, measure, share, *interval, len(ids)))
    return dict(zip(MATCHING.columns, map(list, zip(*found, strict=True)), strict=True))
