"""BLEU, METEOR, ROUGE-L and CIDEr by pycocoevalcap, for each image, with what their corpus values are computed from.

Papineni et al. 2002 (BLEU), Denkowski and Lavie 2014 (METEOR 1.5), Lin 2004 (ROUGE), Vedantam et al. 2015 (CIDEr, here
the CIDEr-D form that pycocoevalcap computes), over the tokens of captionlab.evaluation.ptb.
"""

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge

from captionlab.evaluation.java import JavaError, java_on_path
from captionlab.tables import METEOR_STATISTICS

logger = logging.getLogger(__name__)


@contextmanager
def meteor_process() -> Iterator[Meteor]:
    """pycocoevalcap's METEOR with its Java process, which ends with the block.

    Starting it takes about 5 s and 2 GB (it loads a table of paraphrases), so one serves all corpora of a job.
    """
    with java_on_path():
        meteor = Meteor()
    try:
        yield meteor
    finally:
        meteor.meteor_p.kill()
        with contextlib.suppress(BrokenPipeError), meteor.meteor_p:
            pass  # closes the pipes and waits


def score_corpus(
    corpus: str, captions: Mapping[str, str], references: Mapping[str, Sequence[str]], meteor: Meteor
) -> dict[str, Any]:
    """Columns of the NLG table for one caption per image; both mappings go from image to tokens joined by spaces.

    A caption without tokens scores 0 on everything. A reference without tokens says nothing and is left out; an image
    that has no other is not scored. A caption of an image without references is not scored either. All are logged.
    With a single image the idf of every n-gram is 0, and so is CIDEr. Raises ValueError when an image has no caption.
    """
    usable = _usable_references(corpus, references)
    if missing := [image for image in usable if image not in captions]:
        raise ValueError(
            f"corpus {corpus!r}: {len(missing)} of {len(usable)} images with references have no caption, "
            f"the first is {missing[0]!r}; every image of the evaluated split needs one"
        )
    if extra := len(captions.keys() - usable.keys()):
        logger.warning("%s: %d captions are not scored, their images have no references", corpus, extra)
    if not usable:
        raise ValueError(f"corpus {corpus!r}: no image of the evaluated split has a reference to score captions against")
    images = list(usable)
    if empty := [image for image in images if not captions[image].strip()]:
        logger.warning("%s: %d captions have no token and score 0, the first is of %s", corpus, len(empty), empty[0])
    if len(images) == 1:
        logger.warning("%s: CIDEr is 0, as the idf of every n-gram is with one image", corpus)

    references_of = {image: usable[image] for image in images}
    caption_of = {image: [captions[image]] for image in images}
    bleu, per_image, counts = _bleu(references_of, caption_of)
    score, meteor_scores, statistics = _meteor(corpus, references_of, caption_of, meteor)
    rouge, rouge_scores = Rouge().compute_score(references_of, caption_of)
    cider, cider_scores = Cider().compute_score(references_of, caption_of)
    values = " ".join(f"{value:.3f}" for value in (*bleu, score, rouge, cider))
    logger.info("%s: %d images, BLEU-1 to -4, METEOR, ROUGE-L, CIDEr: %s", corpus, len(images), values)
    return {
        "corpus": [corpus] * len(images),
        "image_id": images,
        **{f"bleu_{n + 1}": per_image[n] for n in range(4)},
        "bleu_counts": counts,
        "meteor": meteor_scores,
        "meteor_statistics": statistics,
        "rouge_l": rouge_scores,
        "cider": cider_scores,
    }


def _usable_references(corpus: str, references: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    usable = {image: [tokens for tokens in of_image if tokens.strip()] for image, of_image in references.items()}
    if dropped := sum(map(len, references.values())) - sum(map(len, usable.values())):
        logger.warning("%s: %d references have no token and are left out", corpus, dropped)
    if bare := [image for image in usable if not usable[image]]:
        logger.warning("%s: %d images have no reference left and are not scored: %s", corpus, len(bare), bare[:10])
    return {image: of_image for image, of_image in usable.items() if of_image}


def _bleu(
    references: dict[str, list[str]], captions: dict[str, list[str]]
) -> tuple[list[float], list[list[float]], list[list[int]]]:
    """Corpus BLEU-1 to -4, the same for each image, and each image's counts in the order of `bleu_counts`."""
    scorer = BleuScorer(n=4)
    for image, of_image in references.items():
        scorer += (captions[image][0], of_image)
    values, per_image = scorer.compute_score(option="closest")
    counts = []
    for found in scorer.ctest:
        length = found["testlen"]
        closest = min((abs(other - length), other) for other in found["reflen"])[1]
        counts.append([length, closest, *found["guess"], *found["correct"]])
    return values, per_image, counts


def _meteor(
    corpus: str, references: dict[str, list[str]], captions: dict[str, list[str]], meteor: Meteor
) -> tuple[float, list[float], list[list[float]]]:
    """Corpus METEOR, the same for each image, and each image's statistics.

    Meteor.compute_score hides the statistics and, when Java dies, waits for ever on its own lock; so the lines of its
    protocol are exchanged here.
    """
    answers, statistics = [], []
    for image, of_image in references.items():
        # Three bars separate the fields of a line.
        texts = [text.replace("|||", " ") for text in (*captions[image], *of_image)]
        with _explained(f"METEOR failed at image {image!r} of {corpus!r}", meteor):
            answers.append(meteor._stat(texts[0], texts[1:]))
            statistics.append([float(number) for number in answers[-1].split()])
            if len(statistics[-1]) != METEOR_STATISTICS:
                raise ValueError(f"it gave {answers[-1]!r} for {METEOR_STATISTICS} statistics")
    with _explained(f"METEOR failed to add up the scores of {corpus!r}", meteor):
        meteor.meteor_p.stdin.write(("EVAL ||| " + " ||| ".join(answers) + "\n").encode())
        meteor.meteor_p.stdin.flush()
        scores = [float(meteor.meteor_p.stdout.readline()) for _ in range(len(answers) + 1)]
    return scores[-1], scores[:-1], statistics


@contextmanager
def _explained(what: str, meteor: Meteor) -> Iterator[None]:
    """Turn a broken pipe or an answer that is none into an error that carries what Java said last."""
    try:
        yield
    except (BrokenPipeError, ValueError) as error:
        meteor.meteor_p.kill()
        said = meteor.meteor_p.stderr.read().decode(errors="replace").strip()[-500:]
        raise JavaError(f"{what} (was it killed, or short of memory?): {said or error}") from error
