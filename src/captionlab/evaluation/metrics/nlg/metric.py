"""BLEU, METEOR, ROUGE-L and CIDEr of each caption, as by pycocoevalcap, and the numbers that corpus values are made of.

Papineni et al. 2002 (BLEU), Denkowski and Lavie 2014 (METEOR 1.5), Lin 2004 (ROUGE), Vedantam et al. 2015 (CIDEr, in
the CIDEr-D form that pycocoevalcap computes), over the tokens of captionlab.evaluation.tokenizers. METEOR is for
English alone.

SCORED are the columns of the table, which the rule score_nlg scores, and METRICS the values that are computed from
them. A further value in METRICS scores no caption again.
"""

import contextlib
import logging
import os
import subprocess
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pycocoevalcap.meteor import meteor as pycocoevalcap_meteor
from pycocoevalcap.rouge.rouge import Rouge

from captionlab.evaluation.bleu import BLEU_COUNTS, bleu_counts, corpus_bleu
from captionlab.evaluation.cider import CiderD
from captionlab.evaluation.java import LAST, SHORT, JavaError, find_java, java_failure, java_messages
from captionlab.evaluation.paraphrases import beginnings, write_possible
from captionlab.evaluation.summary import (
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    caption_values,
    mean,
    parts,
)
from captionlab.jobs.programs import program_environment
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY, CAPTIONER
from captionlab.storage.tables import Column, TableSchema, read_table

# The key of a caption: its image, and its index among the captions of the image.
Key = tuple[str, int]
# The Java process of METEOR. It answers each line of input with a line of output.
Meteor: TypeAlias = subprocess.Popen[bytes]
# How many captions METEOR is asked of at a time. With one, METEOR waits for the metrics that are computed beside it.
# The answers, of about 100 bytes each, fit into 4 KB, the smallest buffer of a pipe, so that METEOR never waits until
# they are read while it is still being asked.
ASKED = 25
# Seconds in which a METEOR that answers no more has to end.
GRACE = 5.0
# How many captions are compared with their references at a time by CIDEr, which bounds the memory.
TOGETHER = 10_000
# How many numbers METEOR's line of statistics has.
METEOR_STATISTICS = 23
_DOUBLE = pa.float64()

logger = logging.getLogger(__name__)


@contextmanager
def meteor_process(texts: Iterable[str]) -> Iterator[Meteor]:
    """Start METEOR's Java process, which ends with the block.

    `texts` are all captions and references of which METEOR will be asked. It loads only paraphrases that they can
    contain. It would load all for 6 to 10 s and into 0.6 GB of memory, and the scores would be the same.
    """
    jar, pipe = Path(pycocoevalcap_meteor.__file__).with_name(pycocoevalcap_meteor.METEOR_JAR), subprocess.PIPE
    program = [str(find_java()), *SHORT, "-Xmx2G", "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"]
    with ExitStack() as stack:
        table = Path(stack.enter_context(TemporaryDirectory(prefix="captionlab-")), "paraphrases.gz")
        number = write_possible(beginnings(texts), jar.parent / "data" / "paraphrase-en.gz", table)
        logger.info("METEOR loads the %d pairs of its paraphrases that the texts can contain", number)
        program += ["-a", str(table)]
        meteor = subprocess.Popen(program, stdin=pipe, stdout=pipe, stderr=pipe, env=program_environment())
        try:
            yield meteor
        finally:
            meteor.kill()
            with contextlib.suppress(BrokenPipeError), meteor:
                pass  # closes the pipes and waits


@dataclass(frozen=True)
class Texts:
    """Captions of a captioner on a corpus, and the references of each image. All are tokens joined by spaces."""

    corpus: str
    captions: Mapping[Key, str]
    references: Mapping[str, list[str]]
    meteor: Meteor | None  # if METEOR is wanted and the texts are in English
    judgements: Mapping[Key, int]  # how often people judged each caption; empty if nobody did

    @property
    def pairs(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each caption with the references of its image."""
        return ((caption, self.references[image]) for (image, _), caption in self.captions.items())


@dataclass(frozen=True)
class Scored:
    """Columns of the table that are scored together."""

    columns: Mapping[str, Column]
    score: Callable[[Texts], Mapping[str, Sequence[Any]]]  # values of the columns, for all captions in order


def score_corpus(
    captioner: str,
    corpus: str,
    captions: Mapping[Key, str],
    references: Mapping[str, Sequence[str]],
    meteor: Meteor | None,
    judgements: Mapping[Key, int] | None = None,
    scored: Sequence[Scored] | None = None,
) -> dict[str, Any]:
    """Return the columns of the NLG table for the captions of a captioner on a corpus.

    captions: by image and index; references: by image. Both are tokens joined by spaces. `scored` are the columns that
    are wanted, by default all. Only METEOR needs `meteor`; it works while the others are computed. Without it the
    columns of METEOR are null, as for captions in another language than English.

    A document of CIDEr's idf is the references of an image. If `judgements` says how often each caption was judged, a
    document is the references of a judgement: the references of an image that was judged five times are five documents.
    With a single image the idf of every n-gram is 0, and so is CIDEr.

    A caption without tokens scores 0 on every metric. A reference without tokens is left out. An image without other
    references is not scored, and neither is a caption of an image without references. All these cases are logged.
    Raises ValueError if an image has no caption, or if no image has a reference.
    """
    what = f"captions of {captioner} on {corpus}"
    usable = _usable_references(what, captions, references)
    if meteor and (foreign := sum(map(_is_foreign, captions.values()))) > len(captions) / 2:
        logger.warning(
            "%s: %d of %d captions are mostly in letters other than Latin, and METEOR, SPICE, the tokeniser and the "
            "tagger are made for English; set the key `language` of the corpus to the language of its captions",
            *(what, foreign, len(captions)),
        )
    described = {key: tokens for key, tokens in captions.items() if key[0] in usable}
    texts = Texts(corpus, described, usable, meteor, judgements or {})
    count, (images, indices) = len(texts.captions), map(list, zip(*texts.captions, strict=True))
    keys = {"corpus": [corpus] * count, "image_id": images, "caption_index": indices}
    columns: dict[str, Any] = {"captioner": [captioner] * count, **keys}
    with ThreadPoolExecutor(1) as pool:
        wanted = SCORED if scored is None else scored
        beside = [pool.submit(METEOR.score, texts)] if METEOR in wanted else []
        for scored_together in wanted:
            if scored_together is not METEOR:
                columns |= scored_together.score(texts)
        for waiting in beside:
            columns |= waiting.result()
    logger.info("%s: %d are scored", what, count)
    return columns


def read_scores(path: str | os.PathLike[str], captioner: str) -> pa.Table:
    """Return the scores of one captioner from the table of an evaluation."""
    scores = read_table(path, NLG)
    return scores.filter(pc.equal(scores["captioner"], captioner))


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results of the job's captioner, by corpus."""
    return caption_results(job, read_scores(path, job.captioner), seed, METRICS)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield every metric of single captions, captioner by captioner."""
    for (captioner,), scores in parts(read_table(path, NLG, [*NLG.key, *OF_CAPTION.values()]), "captioner"):
        yield from caption_values(scores, OF_CAPTION, captioner=captioner)


def _usable_references(
    what: str, captions: Mapping[Key, str], references: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Return the references that have a token, by image. Logs what is left out or scores 0.

    Raises ValueError if no reference is left, or if an image with references has no caption.
    """
    spoken = {image: [tokens for tokens in of_image if tokens.strip()] for image, of_image in references.items()}
    usable = {image: of_image for image, of_image in spoken.items() if of_image}
    if dropped := sum(map(len, references.values())) - sum(map(len, usable.values())):
        logger.warning("%s: %d references have no token and are left out", what, dropped)
    if bare := [image for image in spoken if image not in usable]:
        logger.warning("%s: %d images have no reference left and are not scored: %s", what, len(bare), bare[:10])
    if not usable:
        raise ValueError(f"{what}: no image of the evaluated split has a reference to score against")
    described = {image for image, _ in captions}
    if missing := [image for image in usable if image not in described]:
        raise ValueError(
            f"{what}: {len(missing)} of {len(usable)} images with references have no caption, "
            f"the first is {missing[0]!r}; every image of the evaluated split needs one"
        )
    if extra := len(described - usable.keys()):
        logger.warning("%s: the captions of %d images are not scored, they have no references", what, extra)
    if empty := [image for (image, _), tokens in captions.items() if image in usable and not tokens.strip()]:
        logger.warning("%s: %d captions have no token and score 0, first that of %s", what, len(empty), empty[0])
    if len(usable) == 1:
        logger.warning("%s: CIDEr is 0, because the idf of every n-gram is 0 with one image", what)
    return usable


def _is_foreign(text: str) -> bool:
    """Return whether most letters of a text are of a script other than Latin."""
    letters = [letter for letter in text if letter.isalpha()]
    others = 0 if text.isascii() else sum(not unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return others > len(letters) / 2


def _bleu(texts: Texts) -> dict[str, Sequence[Any]]:
    scores, counts = bleu_counts(texts.pairs)
    return {**{f"bleu_{order}": of_order for order, of_order in enumerate(scores, 1)}, "bleu_counts": counts}


def _rouge(texts: Texts) -> dict[str, Sequence[Any]]:
    rouge = Rouge()
    return {"rouge_l": [rouge.calc_score([caption], references) for caption, references in texts.pairs]}


def _cider(texts: Texts) -> dict[str, Sequence[Any]]:
    """Score captions by an idf whose documents are the references of an image, or of a judgement if people judged."""
    rank = {image: place for place, image in enumerate(dict.fromkeys(image for image, _ in texts.captions))}
    images = np.array([rank[image] for image, _ in texts.captions])
    references = [[tokens.split() for tokens in texts.references[image]] for image in rank]
    judged = [texts.judgements[key] for key in texts.captions] if texts.judgements else None
    documents = None if judged is None else np.bincount(images, judged).astype(np.int64)
    cider, captions, scores = CiderD(references, documents), [*texts.captions.values()], []
    for start in range(0, len(captions), TOGETHER):
        part = slice(start, start + TOGETHER)
        scores += cider.score(images[part], [tokens.split() for tokens in captions[part]]).tolist()
    return {"cider": scores}


def _meteor(texts: Texts) -> dict[str, Sequence[Any]]:
    # Intervals need the statistics, which Meteor.compute_score of pycocoevalcap does not return.
    if (meteor := texts.meteor) is None:
        nothing = [None] * len(texts.captions)
        return {"meteor": nothing, "meteor_statistics": nothing}
    answers: list[str] = []
    statistics: list[list[float]] = []
    every, pairs = [image for image, _ in texts.captions], texts.pairs
    for start in range(0, len(every), ASKED):
        images = every[start : start + ASKED]
        one_of = f"one of the images from {images[0]!r} to {images[-1]!r}"
        with _failures_named(f"METEOR failed at {one_of} of {texts.corpus!r}", meteor):
            _write(meteor, "\n".join(_question(*pair) for pair in islice(pairs, len(images))))
        for image in images:
            with _failures_named(f"METEOR failed at image {image!r} of {texts.corpus!r}", meteor):
                answers.append(_answer(meteor))
                statistics.append(_counted_chunks(_numbers(answers[-1], METEOR_STATISTICS)))
    # METEOR reads statistics slowly, and many captions have the same statistics.
    different = [*dict.fromkeys(answers)]
    with _failures_named(f"METEOR failed to add up the scores of {texts.corpus!r}", meteor):
        _write(meteor, " ||| ".join(["EVAL", *different]))
        score_of = {answer: _numbers(_answer(meteor), 1)[0] for answer in different}
        _answer(meteor)  # the last line is the score of all captions together
    return {"meteor": [score_of[answer] for answer in answers], "meteor_statistics": statistics}


def _question(caption: str, references: Sequence[str]) -> str:
    """Return METEOR's input line for a caption. Three bars separate the fields, as in pycocoevalcap."""
    first, *others = (text.replace("|||", " ") for text in (caption, *references))
    return " ||| ".join(["SCORE", *others, first.replace("  ", " ")])


def _write(meteor: Meteor, line: str) -> None:
    assert meteor.stdin is not None
    meteor.stdin.write(f"{line}\n".encode())
    meteor.stdin.flush()


def _answer(meteor: Meteor) -> str:
    """Return the next line that METEOR writes. Raises BrokenPipeError if the process has ended."""
    assert meteor.stdout is not None
    if not (line := meteor.stdout.readline()):
        raise BrokenPipeError("it ended too early")
    return line.decode().strip()


def _numbers(answer: str, count: int) -> list[float]:
    """Return the numbers of METEOR's answer. Raises ValueError if the answer is anything but `count` numbers."""
    try:
        numbers = [float(number) for number in answer.split()]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise ValueError(f"it answered {answer[-LAST:]!r} and not {count} numbers")
    return numbers


@contextmanager
def _failures_named(what: str, meteor: Meteor) -> Iterator[None]:
    """Turn the error of a broken pipe, or of an invalid answer, into a JavaError with the end of Java's messages."""
    try:
        yield
    except (BrokenPipeError, ValueError) as error:
        if isinstance(error, BrokenPipeError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                meteor.wait(GRACE)
        status = meteor.poll()
        meteor.kill()
        assert meteor.stderr is not None
        messages = meteor.stderr.read().decode(errors="replace")
        why = f"{error}; {java_messages(messages)}" if status is None else java_failure("it", status, messages)
        raise JavaError(f"{what}: {why}") from error


def _counted_chunks(statistics: list[float]) -> list[float]:
    # METEOR does not count the chunk of a caption that matches its reference as a whole (MeteorStats.addStats and
    # MeteorScorer.computeMetrics of meteor-1.5.jar). With 0 chunks in such a case, statistics can simply be added.
    whole = statistics[21:] == statistics[:2] and statistics[20] == 1
    return [*statistics[:20], 0.0, *statistics[21:]] if whole else statistics


def corpus_meteor(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return corpus METEOR (...), 0 to 1, from sums (..., 23) of `meteor_statistics`.

    METEOR 1.5 with its parameters for English (Denkowski and Lavie 2014, table 4): the harmonic mean of precision and
    recall of weighted matches, with a penalty for the number of chunks that the matches fall into.
    """
    alpha, beta, gamma, content = 0.85, 0.2, 0.6, 0.75
    modules = np.array([1.0, 0.6, 0.8, 0.6])

    def weighted(side: int) -> tuple[np.ndarray, np.ndarray]:
        length, function_words = sums[..., side], sums[..., side + 2]
        matched, matched_function = sums[..., 4 + side : 20 : 4] @ modules, sums[..., 6 + side : 20 : 4] @ modules
        weighted_length = content * (length - function_words) + (1 - content) * function_words
        return content * matched + (1 - content) * matched_function, weighted_length

    (found, length), (covered, reference) = weighted(0), weighted(1)
    chunks, matches = sums[..., 20], (sums[..., 21] + sums[..., 22]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        harmonic = 1 / ((1 - alpha) * length / found + alpha * reference / covered)
        score = harmonic * (1 - gamma * (chunks / matches) ** beta)
    return np.maximum(np.where(matches > 0, score, 0), 0)


BLEU = Scored(
    {
        **{f"bleu_{n}": Column(_DOUBLE, f"BLEU-{n} of the caption alone, 0 to 1") for n in range(1, 5)},
        "bleu_counts": Column(
            pa.list_(pa.int32(), BLEU_COUNTS),
            "tokens of the caption, of the reference closest in length; n-grams of the caption, n = 1 to 4; "
            "n-grams found in a reference, n = 1 to 4",
        ),
    },
    _bleu,
)
METEOR = Scored(
    {
        "meteor": Column(_DOUBLE, "METEOR of the caption alone, 0 to 1; null if it is not in English", nullable=True),
        "meteor_statistics": Column(
            pa.list_(pa.float64(), METEOR_STATISTICS),
            "with the best reference: tokens and function words of caption and reference; content and function words "
            "matched in each, by module (exact, stem, synonym, paraphrase); chunks, none where all is matched in one; "
            "tokens matched in each",
            nullable=True,
        ),
    },
    _meteor,
)
ROUGE = Scored({"rouge_l": Column(_DOUBLE, "ROUGE-L, 0 to 1")}, _rouge)
CIDER = Scored(
    {"cider": Column(_DOUBLE, "CIDEr, 0 to 10, idf from the references of the corpus, or of all judgements")}, _cider
)
SCORED = (BLEU, METEOR, ROUGE, CIDER)
NLG = TableSchema(
    "scores against references",
    "a caption scored by n-gram metrics, with what a corpus value is computed from",
    ("captioner", *CAPTION_KEY),
    captioner=CAPTIONER,
    **CAPTION_KEY,
    **{name: column for scored in SCORED for name, column in scored.columns.items()},
)

# Metrics of a corpus by their printed names, each from the sums of a column, with the bounds of printed values.
METRICS = {
    **{f"BLEU@{n}": Metric("bleu_counts", partial(corpus_bleu, order=n), PER_CENT) for n in range(1, 5)},
    "METEOR": Metric("meteor_statistics", corpus_meteor, PER_CENT),
    "ROUGE-L": Metric("rouge_l", mean, PER_CENT),
    "CIDEr": Metric("cider", mean, (0.0, 1000.0)),
}
# Columns with metrics of single captions, by printed names.
OF_CAPTION = {
    **{f"BLEU@{n}": f"bleu_{n}" for n in range(1, 5)},
    "METEOR": "meteor",
    "ROUGE-L": "rouge_l",
    "CIDEr": "cider",
}
