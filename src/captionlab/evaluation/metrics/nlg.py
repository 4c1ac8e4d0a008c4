"""BLEU, METEOR, ROUGE-L and CIDEr of pycocoevalcap, for each caption, with what their corpus values are computed from.

TEXT_METRICS is the one place for a metric of a caption against references: its columns, how it scores, its values.
Papineni et al. 2002 (BLEU), Denkowski and Lavie 2014 (METEOR 1.5), Lin 2004 (ROUGE), Vedantam et al. 2015 (CIDEr, here
the CIDEr-D form that pycocoevalcap computes), over the tokens of captionlab.evaluation.ptb.
"""

import contextlib
import inspect
import logging
import re
import subprocess
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pycocoevalcap.meteor.meteor import METEOR_JAR, Meteor

from captionlab.declarations import ScoreTable
from captionlab.evaluation import ngrams
from captionlab.evaluation.java import SHORT, JavaError, java_on_path
from captionlab.evaluation.summary import (
    PER_CENT,
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    caption_values,
    mean,
)
from captionlab.schemas import CAPTION_KEY
from captionlab.tables import Column, TableSchema, read_table

DECLARATION = ScoreTable(place=1, asks=(), references=True, switch="")
# A caption: its image, and its index among the captions of that image.
Key = tuple[str, int]
# Score and statistics of each caption that METEOR was asked of.
Answers = list[tuple[float, list[float]]]
# The numbers of METEOR's own line of statistics.
METEOR_STATISTICS = 23
# Bytes of its answers that are read at a time at most: what a pipe holds.
READ = 1 << 16
BARE = re.compile("[0-9a-z]+(?: [0-9a-z]+)*")
# Bare captions that save as much as the start of a process takes, measured: 2.2 s for 5,000, and 1 s.
WORTH_A_START = 2500
_DOUBLE = pa.float64()

logger = logging.getLogger(__name__)


class MeteorOf(Meteor):
    """pycocoevalcap's METEOR with another file of paraphrases; a `bare` one is asked of bare texts only."""

    def __init__(self, paraphrases: Path, bare: bool = False):
        self.bare = bare
        jar, pipe = Path(inspect.getfile(Meteor)).with_name(METEOR_JAR), subprocess.PIPE
        options = ["-", "-", "-stdio", "-l", "en", *([] if bare else ["-norm"]), "-a", str(paraphrases)]
        self.meteor_cmd = ["java", *SHORT, "-Xmx2G", "-jar", str(jar), *options]
        self.meteor_p = subprocess.Popen(self.meteor_cmd, stdin=pipe, stdout=pipe, stderr=pipe)
        self.lock = threading.Lock()


@contextmanager
def meteor_process(paraphrases: Path | None = None, bare: bool = False) -> Iterator[Meteor]:
    """pycocoevalcap's METEOR with its Java process, which ends with the block.

    Without a file of paraphrases (captionlab.evaluation.paraphrases) it reads its own, in 10 s of processor and 1 GB.
    With `bare` it is for texts that are so (`are_bare`).
    """
    with java_on_path():
        meteor = MeteorOf(paraphrases, bare) if paraphrases else Meteor()
    try:
        yield meteor
    finally:
        meteor.meteor_p.kill()
        with contextlib.suppress(BrokenPipeError), meteor.meteor_p:
            pass  # closes the pipes and waits


def are_bare(texts: Iterable[str]) -> bool:
    """Whether these are words of letters a to z and digits, single spaces between them, and nothing else.

    METEOR's rules of punctuation, which take half of its time, leave such texts as they are: each wants another
    character (Normalizer of meteor-1.5.jar).
    """
    return all(map(BARE.fullmatch, texts))


def kinds_of_meteor(texts: Iterable[Iterable[str]]) -> list[bool]:
    """Which processes captions are worth, each given with its references: True for a bare one, False for a usual one.

    Both where bare captions save more than the start of a process of their own takes.
    """
    bare = [are_bare(of_caption) for of_caption in texts]
    return [True] if all(bare) else [True, False] if sum(bare) >= WORTH_A_START else [False]


@dataclass(frozen=True)
class Texts:
    """Captions of a corpus, each in a list of its own, and their references; all as tokens joined by spaces."""

    corpus: str
    captions: Mapping[Key, list[str]]
    references: Mapping[str, list[str]]  # of each image
    asked: list[tuple[Sequence[Key], Future[Answers]]]  # what METEOR is asked: captions that a process has, its answers

    @cached_property
    def ngrams(self) -> ngrams.Corpus:
        """All of them as arrays."""
        places = {image: place for place, image in enumerate(self.references)}
        captions = [of_key[0] for of_key in self.captions.values()]
        return ngrams.Corpus(captions, [*self.references.values()], [places[image] for image, _ in self.captions])


@dataclass(frozen=True)
class TextMetric:
    """A metric of captions against references, or several that are computed together."""

    columns: Mapping[str, Column]  # what is stored of each caption
    score: Callable[[Texts], Mapping[str, Sequence[Any]]]  # these columns of all captions, in their order
    metrics: Mapping[str, Metric]  # values of a corpus by their printed names, each from the sums of one column
    of_caption: Mapping[str, str] = field(default_factory=dict)  # by these names the columns of a caption's own values


def score_corpus(
    corpus: str, captions: Mapping[Key, str], references: Mapping[str, Sequence[str]], *meteors: Meteor
) -> dict[str, Any]:
    """Columns of the NLG table; captions by image and index, references by image, both as tokens joined by spaces.

    The processes of METEOR share the captions and work beside the other metrics; where there are several, these wait
    until one of them is done, or they would hold up the one that takes longest.

    A caption without tokens scores 0 on everything. A reference without tokens says nothing and is left out; an image
    that has no other is not scored. A caption of an image without references is not scored either. All are logged.
    With a single image the idf of every n-gram is 0, and so is CIDEr. Raises ValueError when an image has no caption.
    """
    usable = _usable_references(corpus, captions, references)
    if (foreign := sum(map(_is_foreign, captions.values()))) > len(captions) / 2:
        logger.warning(
            "%s: %d of %d captions are mostly in letters other than Latin; METEOR, SPICE, the tokeniser and the tagger "
            "are made for English, so what they say of these means little",
            *(corpus, foreign, len(captions)),
        )
    texts = Texts(corpus, {key: [tokens] for key, tokens in captions.items() if key[0] in usable}, usable, [])
    count, (images, indices) = len(texts.captions), map(list, zip(*texts.captions, strict=True))
    columns: dict[str, Any] = {"corpus": [corpus] * count, "image_id": images, "caption_index": indices}
    with ThreadPoolExecutor(max(2, len(meteors))) as pool:
        try:
            for meteor, keys in _shares(texts, meteors):
                texts.asked.append((keys, pool.submit(_meteor_of, texts, meteor, keys)))
            others = [pool.submit(metric.score, texts) for metric in TEXT_METRICS if metric is not METEOR]
            every: list[Future[Any]] = [*others, *(answers for _, answers in texts.asked)]
            wait(every, return_when=FIRST_EXCEPTION)
            for found in (*(other.result() for other in others), METEOR.score(texts)):
                columns |= found
        except BaseException:  # or the threads would be waited for
            for meteor in meteors:
                meteor.meteor_p.kill()
            raise
    sums = {name: np.reshape(columns[name], (count, -1)).sum(axis=0) for name in {m.column for m in METRICS.values()}}
    shown = ", ".join(f"{name} {float(m.value(sums[m.column], np.array(count))):.3f}" for name, m in METRICS.items())
    logger.info("%s: %s of %d captions", corpus, shown, count)
    return columns


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Results by corpus."""
    return caption_results(job, read_table(path, NLG), seed, METRICS)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Every metric of each caption alone."""
    return caption_values(read_table(path, NLG, [*CAPTION_KEY, *OF_CAPTION.values()]), OF_CAPTION)


def _usable_references(
    corpus: str, captions: Mapping[Key, str], references: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Those with a token; a ValueError where captions or references are missing, and log what is odd."""
    spoken = {image: [tokens for tokens in of_image if tokens.strip()] for image, of_image in references.items()}
    usable = {image: of_image for image, of_image in spoken.items() if of_image}
    if dropped := sum(map(len, references.values())) - sum(map(len, usable.values())):
        logger.warning("%s: %d references have no token and are left out", corpus, dropped)
    if bare := [image for image in spoken if image not in usable]:
        logger.warning("%s: %d images have no reference left and are not scored: %s", corpus, len(bare), bare[:10])
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
    if empty := [image for (image, _), tokens in captions.items() if image in usable and not tokens.strip()]:
        logger.warning("%s: %d captions have no token and score 0, first that of %s", corpus, len(empty), empty[0])
    if len(usable) == 1:
        logger.warning("%s: CIDEr is 0, because the idf of every n-gram is 0 with one image", corpus)
    return usable


def _is_foreign(text: str) -> bool:
    """Whether most letters of a text are of another script than Latin."""
    letters = [letter for letter in text if letter.isalpha()]
    others = 0 if text.isascii() else sum(not unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
    return others > len(letters) / 2


def _bleu(texts: Texts) -> dict[str, Sequence[Any]]:
    counts = ngrams.bleu_counts(texts.ngrams)
    scores = {f"bleu_{order}": scores for order, scores in enumerate(ngrams.bleu(counts), 1)}
    return {**scores, "bleu_counts": counts.tolist()}


def _meteor(texts: Texts) -> dict[str, Sequence[Any]]:
    of_key: dict[Key, tuple[float, list[float]]] = {}
    for keys, answers in texts.asked:
        of_key |= zip(keys, answers.result(), strict=True)
    scores, statistics = map(list, zip(*map(of_key.__getitem__, texts.captions), strict=True))
    return {"meteor": scores, "meteor_statistics": statistics}


def _shares(texts: Texts, meteors: Sequence[Meteor]) -> Iterator[tuple[Meteor, Sequence[Key]]]:
    """Processes with the captions that each is asked of, bare ones of those that are bare and have such references.

    ValueError for captions that there is no process for.
    """
    for_bare = [meteor for meteor in meteors if isinstance(meteor, MeteorOf) and meteor.bare]
    for_others = [meteor for meteor in meteors if meteor not in for_bare]
    bare: list[Key] = []
    others: list[Key] = []
    for key, caption in texts.captions.items():
        is_bare = for_bare and are_bare([*caption, *texts.references[key[0]]])
        (bare if is_bare else others).append(key)
    if others and not for_others:
        raise ValueError(f"the texts of {others[0][0]!r} are not bare, and METEOR is there for bare ones only")
    for keys, processes in ((bare, for_bare), (others, for_others)):
        size = -(-len(keys) // len(processes)) if keys else 1
        yield from zip(processes, (keys[start : start + size] for start in range(0, len(keys), size)), strict=False)


def _meteor_of(texts: Texts, meteor: Meteor, keys: Sequence[Key]) -> Answers:
    """Score and statistics of each of some captions by a process, which is asked and answers at the same time."""
    # Meteor.compute_score hides the statistics and, when Java dies, waits for ever on its lock.
    answers: list[str] = []
    statistics: list[list[float]] = []
    questions = "".join(_question(texts.captions[key][0], texts.references[key[0]]) for key in keys).encode()
    with ThreadPoolExecutor(1) as beside:
        try:
            asked = beside.submit(_write, meteor, questions)
            for answer in _answers(meteor, len(keys)):
                numbers = list(map(float, answer.split()))
                if len(numbers) != METEOR_STATISTICS:
                    raise ValueError(f"it gave {answer!r} for {METEOR_STATISTICS} statistics")
                answers.append(answer)
                statistics.append(numbers)
            asked.result()
        except BaseException as error:
            meteor.meteor_p.kill()  # or what is being written would be waited for
            if not isinstance(error, (BrokenPipeError, ValueError)):
                raise
            failed = f"METEOR failed at image {keys[min(len(answers), len(keys) - 1)][0]!r} of {texts.corpus!r}"
            raise _explained(failed, meteor, error) from error
    # It reads statistics slowly, and many captions have those of another one.
    different = [*dict.fromkeys(answers)]
    try:
        _write(meteor, ("EVAL ||| " + " ||| ".join(different) + "\n").encode())
        *scores, _ = map(float, _answers(meteor, len(different) + 1))
    except (BrokenPipeError, ValueError) as error:
        raise _explained(f"METEOR failed to add up the scores of {texts.corpus!r}", meteor, error) from error
    score_of = dict(zip(different, scores, strict=True))
    return [*zip(map(score_of.__getitem__, answers), map(_counted_chunks, statistics), strict=True)]


def _question(caption: str, references: Sequence[str]) -> str:
    """METEOR's line for a caption, in which three bars separate the fields, as pycocoevalcap writes it."""
    first, *others = (text.replace("|||", " ") for text in (caption, *references))
    return " ||| ".join(["SCORE", *others, first.replace("  ", " ")]) + "\n"


def _write(meteor: Meteor, text: bytes) -> None:
    meteor.meteor_p.stdin.write(text)
    meteor.meteor_p.stdin.flush()


def _answers(meteor: Meteor, count: int) -> Iterator[str]:
    """So many lines that a process writes; BrokenPipeError when it ends before, ValueError when it writes more.

    All that is there is read at once: before each reading, this thread waits until the others let it.
    """
    begun = b""
    while count:
        if not (more := meteor.meteor_p.stdout.read1(READ)):
            raise BrokenPipeError(f"it ended {count} answers too early")
        *lines, begun = (begun + more).split(b"\n")
        if len(lines) > count:
            raise ValueError(f"it gave {len(lines) - count} answers too many, the last is {lines[-1]!r}")
        yield from (line.decode().strip() for line in lines)
        count -= len(lines)


def _rouge(texts: Texts) -> dict[str, Sequence[Any]]:
    pairs = ((caption[0], texts.references[image]) for (image, _), caption in texts.captions.items())
    return {"rouge_l": [ngrams.rouge_l(*pair) for pair in pairs]}


def _cider(texts: Texts) -> dict[str, Sequence[Any]]:
    return {"cider": ngrams.cider(texts.ngrams)}


def _counted_chunks(statistics: list[float]) -> list[float]:
    # With 0 chunks where caption and reference match as a whole, which METEOR does not count (MeteorStats.addStats and
    # MeteorScorer.computeMetrics of meteor-1.5.jar), statistics can simply be added.
    whole = statistics[21:] == statistics[:2] and statistics[20] == 1
    return [*statistics[:20], 0.0, *statistics[21:]] if whole else statistics


def _explained(what: str, meteor: Meteor, error: Exception) -> JavaError:
    """The error of a broken pipe or of an answer that is none, with what Java said last."""
    meteor.meteor_p.kill()
    said = meteor.meteor_p.stderr.read().decode(errors="replace").strip()[-500:]
    return JavaError(f"{what} (was it killed, or short of memory?): {said or error}")


def corpus_bleu(sums: np.ndarray, captions: np.ndarray, order: int) -> np.ndarray:
    """Corpus BLEU (...) up to n-grams of this order from sums (..., 10) of `bleu_counts`, smoothed as pycocoevalcap."""
    tiny, small = 1e-15, 1e-9
    length, reference = sums[..., 0] + tiny, sums[..., 1] + small
    precisions = (sums[..., 6 : 6 + order] + tiny) / (sums[..., 2 : 2 + order] + small)
    return np.prod(precisions, axis=-1) ** (1 / order) * np.exp(np.minimum(0, 1 - reference / length))


def corpus_meteor(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Corpus METEOR (...) from sums (..., 23) of `meteor_statistics`.

    METEOR 1.5 with its parameters for English (Denkowski and Lavie 2014, table 4): precision and recall of weighted
    matches, their harmonic mean, and a penalty for the number of chunks that the matches fall into.
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


BLEU = TextMetric(
    {
        **{f"bleu_{n}": Column(_DOUBLE, f"BLEU-{n} of the caption alone, 0 to 1") for n in range(1, 5)},
        "bleu_counts": Column(
            pa.list_(pa.int32(), 10),
            "tokens of the caption, of the reference closest in length; n-grams of the caption, n = 1 to 4; "
            "those found in a reference, n = 1 to 4",
        ),
    },
    _bleu,
    {f"BLEU@{n}": Metric("bleu_counts", partial(corpus_bleu, order=n), ends=PER_CENT) for n in range(1, 5)},
    {f"BLEU@{n}": f"bleu_{n}" for n in range(1, 5)},
)
METEOR = TextMetric(
    {
        "meteor": Column(_DOUBLE, "METEOR of the caption alone, 0 to 1"),
        "meteor_statistics": Column(
            pa.list_(pa.float64(), METEOR_STATISTICS),
            "with the best reference: tokens and function words of caption and reference; content and function words "
            "matched in each, by module (exact, stem, synonym, paraphrase); chunks, none where all is matched in one; "
            "tokens matched in each",
        ),
    },
    _meteor,
    {"METEOR": Metric("meteor_statistics", corpus_meteor, ends=PER_CENT)},
    {"METEOR": "meteor"},
)
_ROUGE_L = {"rouge_l": Column(_DOUBLE, "ROUGE-L, 0 to 1")}
ROUGE = TextMetric(_ROUGE_L, _rouge, {"ROUGE-L": Metric("rouge_l", mean, ends=PER_CENT)}, {"ROUGE-L": "rouge_l"})
_CIDER = {"cider": Column(_DOUBLE, "CIDEr, 0 to 10, idf from the references of the corpus")}
CIDER = TextMetric(_CIDER, _cider, {"CIDEr": Metric("cider", mean)}, {"CIDEr": "cider"})
TEXT_METRICS = (BLEU, METEOR, ROUGE, CIDER)

METRICS = {name: metric for one in TEXT_METRICS for name, metric in one.metrics.items()}
# The columns that have the metrics of a caption alone.
OF_CAPTION = {name: column for one in TEXT_METRICS for name, column in one.of_caption.items()}
NLG = TableSchema(
    "scores against references",
    "a caption scored by n-gram metrics, with what a corpus value is computed from",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    **{name: column for one in TEXT_METRICS for name, column in one.columns.items()},
)
