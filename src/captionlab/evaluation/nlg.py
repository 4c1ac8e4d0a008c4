"""BLEU, METEOR, ROUGE-L and CIDEr by pycocoevalcap, for each caption, with what their corpus values are computed from.

Papineni et al. 2002 (BLEU), Denkowski and Lavie 2014 (METEOR 1.5), Lin 2004 (ROUGE), Vedantam et al. 2015 (CIDEr, here
the CIDEr-D form that pycocoevalcap computes), over the tokens of captionlab.evaluation.ptb.
"""

import contextlib
import inspect
import logging
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import METEOR_JAR, Meteor
from pycocoevalcap.rouge.rouge import Rouge

from captionlab.evaluation.java import JavaError, java_on_path
from captionlab.schemas import METEOR_STATISTICS

# A caption: its image, and its index among the captions of that image.
Key = tuple[str, int]

logger = logging.getLogger(__name__)


class MeteorOf(Meteor):
    """pycocoevalcap's METEOR with another file of paraphrases."""

    def __init__(self, paraphrases: Path):
        jar, pipe = Path(inspect.getfile(Meteor)).with_name(METEOR_JAR), subprocess.PIPE
        self.meteor_cmd = ["java", "-jar", "-Xmx2G", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"]
        self.meteor_cmd += ["-a", str(paraphrases)]
        self.meteor_p = subprocess.Popen(self.meteor_cmd, stdin=pipe, stdout=pipe, stderr=pipe)
        self.lock = threading.Lock()


@contextmanager
def meteor_process(paraphrases: Path | None = None) -> Iterator[Meteor]:
    """pycocoevalcap's METEOR with its Java process, which ends with the block.

    Without a file of paraphrases (captionlab.evaluation.paraphrases) it reads its own, which takes about 10 s of
    processor time and 1 GB.
    """
    with java_on_path():
        meteor = MeteorOf(paraphrases) if paraphrases else Meteor()
    try:
        yield meteor
    finally:
        meteor.meteor_p.kill()
        with contextlib.suppress(BrokenPipeError), meteor.meteor_p:
            pass  # closes the pipes and waits


def score_corpus(
    corpus: str, captions: Mapping[Key, str], references: Mapping[str, Sequence[str]], meteor: Meteor
) -> dict[str, Any]:
    """Columns of the NLG table; captions by image and index, references by image, both as tokens joined by spaces.

    A caption without tokens scores 0 on everything. A reference without tokens says nothing and is left out; an image
    that has no other is not scored. A caption of an image without references is not scored either. All are logged.
    With a single image the idf of every n-gram is 0, and so is CIDEr. Raises ValueError when an image has no caption.
    """
    usable = _usable_references(corpus, references)
    if not usable:
        raise ValueError(f"corpus {corpus!r}: no image of the evaluated split has a reference to score against")
    described = {image for image, _ in captions}
    if missing := [image for image in usable if image not in described]:
        raise ValueError(
            f"corpus {corpus!r}: {len(missing)} of {len(usable)} images with references have no caption, "
            f"the first is {missing[0]!r}; every image of the evaluated split needs one"
        )
    if extra := len(described - usable.keys()):
        logger.warning("%s: the captions of %d images are not scored, they have no references", corpus, extra)
    caption_of = {key: [tokens] for key, tokens in captions.items() if key[0] in usable}
    references_of = {key: usable[key[0]] for key in caption_of}
    if empty := [key for key, (tokens,) in caption_of.items() if not tokens.strip()]:
        logger.warning("%s: %d captions have no token and score 0, first that of %s", corpus, len(empty), empty[0][0])
    if len(usable) == 1:
        logger.warning("%s: CIDEr is 0, because the idf of every n-gram is 0 with one image", corpus)

    bleu, per_caption, counts = _bleu(references_of, caption_of)
    rouge, rouge_scores = Rouge().compute_score(references_of, caption_of)
    cider = _cider(usable, captions)
    cider_scores = [cider[key] for key in caption_of]
    # Last, because its Java process takes a moment to start.
    meteor_value, meteor_scores, statistics = _meteor(corpus, references_of, caption_of, meteor)
    values = (*bleu, meteor_value, rouge, sum(cider_scores) / len(cider_scores))
    shown = " ".join(f"{value:.3f}" for value in values)
    logger.info("%s: BLEU-1 to -4, METEOR, ROUGE-L, CIDEr of %d captions: %s", corpus, len(caption_of), shown)
    return {
        "corpus": [corpus] * len(caption_of),
        "image_id": [image for image, _ in caption_of],
        "caption_index": [index for _, index in caption_of],
        **{f"bleu_{order + 1}": scores for order, scores in enumerate(per_caption)},
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
    references: dict[Key, list[str]], captions: dict[Key, list[str]]
) -> tuple[list[float], list[list[float]], list[list[int]]]:
    """BLEU-1 to -4 of the corpus and of each caption, and each caption's counts in the order of `bleu_counts`."""
    scorer = BleuScorer(n=4)
    for key, of_image in references.items():
        scorer += (captions[key][0], of_image)
    values, per_caption = scorer.compute_score(option="closest")
    counts = []
    for found in scorer.ctest:
        length = found["testlen"]
        closest = min((abs(other - length), other) for other in found["reflen"])[1]
        counts.append([length, closest, *found["guess"], *found["correct"]])
    return values, per_caption, counts


def _meteor(
    corpus: str, references: dict[Key, list[str]], captions: dict[Key, list[str]], meteor: Meteor
) -> tuple[float, list[float], list[list[float]]]:
    """METEOR of the corpus and of each caption, and each caption's statistics.

    Meteor.compute_score hides these and, when Java dies, waits for ever on its lock; so its lines are exchanged here.
    """
    answers, statistics = [], []
    for key, of_image in references.items():
        # Three bars separate the fields of a line.
        texts = [text.replace("|||", " ") for text in (*captions[key], *of_image)]
        with _explained(f"METEOR failed at image {key[0]!r} of {corpus!r}", meteor):
            answers.append(meteor._stat(texts[0], texts[1:]))
            statistics.append([float(number) for number in answers[-1].split()])
            if len(statistics[-1]) != METEOR_STATISTICS:
                raise ValueError(f"it gave {answers[-1]!r} for {METEOR_STATISTICS} statistics")
    with _explained(f"METEOR failed to add up the scores of {corpus!r}", meteor):
        meteor.meteor_p.stdin.write(("EVAL ||| " + " ||| ".join(answers) + "\n").encode())
        meteor.meteor_p.stdin.flush()
        scores = [float(meteor.meteor_p.stdout.readline()) for _ in range(len(answers) + 1)]
    return scores[-1], scores[:-1], [_counted_chunks(of_caption) for of_caption in statistics]


def _counted_chunks(statistics: list[float]) -> list[float]:
    """The statistics with 0 chunks where caption and reference match as a whole: METEOR does not count such a chunk.

    (MeteorStats.addStats and MeteorScorer.computeMetrics of meteor-1.5.jar.) With this, statistics can simply be added.
    """
    caption, reference = statistics[:2]
    whole = statistics[21:] == [caption, reference] and statistics[20] == 1
    return [*statistics[:20], 0.0, *statistics[21:]] if whole else statistics


def _cider(references: dict[str, list[str]], captions: Mapping[Key, str]) -> dict[Key, float]:
    """CIDEr of each caption: of all first captions, then of the second; for Cider counts an image once for each."""
    scores: dict[Key, float] = {}
    for index in sorted({index for _, index in captions}):
        of_index = {image: [captions.get((image, index), "")] for image in references}
        _, values = Cider().compute_score(references, of_index)
        scores |= {(image, index): float(value) for image, value in zip(references, values, strict=True)}
    return scores


@contextmanager
def _explained(what: str, meteor: Meteor) -> Iterator[None]:
    """Turn a broken pipe or an answer that is none into an error that carries what Java said last."""
    try:
        yield
    except (BrokenPipeError, ValueError) as error:
        meteor.meteor_p.kill()
        said = meteor.meteor_p.stderr.read().decode(errors="replace").strip()[-500:]
        raise JavaError(f"{what} (was it killed, or short of memory?): {said or error}") from error
