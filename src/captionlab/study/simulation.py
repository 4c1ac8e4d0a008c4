"""A simulated participant: a retriever draws images in place of a person, so that the study can be run to its end."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from captionlab.study.responses import SIMULATED, WEB


def simulate(
    screens: Sequence[Mapping[str, Any]],
    similarities: np.ndarray,
    scale: float,
    participants: int,
    study: str,
    seed: int,
) -> str:
    """Answers of simulated participants, in the form of the web page's CSV.

    `similarities` (screens, 10) are the retriever's cosines of caption and images, in the order of the screen; each
    image is drawn with the probability that the retriever gives it, softmax of `scale` times cosine. Blocks are given
    out in turn. Every code begins with "simulated", and `read_answers` never takes such answers for those of people.
    """
    logits = scale * np.asarray(similarities, dtype=np.float64)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    blocks = sorted({row["block"] for row in screens} - {0})
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(WEB)
    for number in range(participants):
        generator = np.random.default_rng([seed, number])
        block = blocks[number % len(blocks)]
        shown = sorted((row["question"], index) for index, row in enumerate(screens) if row["block"] == block)
        for question, index in shown:
            place = int(generator.choice(chances.shape[1], p=chances[index])) + 1
            writer.writerow([study, f"{SIMULATED}-{number + 1:03d}", block, question, place])
    return stream.getvalue()
