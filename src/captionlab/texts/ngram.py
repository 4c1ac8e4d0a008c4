"""A back-off n-gram language model, estimated as SRILM's `ngram-count` does without options.

Good-Turing discounting with Katz back-off (Katz 1987; Stolcke 2002), trigrams that occur once left out, counts above
7 not discounted, no word for the unknown. The table of each order is sorted by (index of the first n-1 words in the
table below, last word), so that a whole corpus is scored with a few binary searches.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

logger = logging.getLogger(__name__)

START, END, UNKNOWN = "<s>", "</s>", "<unk>"
RESERVED = frozenset((START, END, UNKNOWN))
# How the ARPA format writes the logarithm of 0.
LOG_ZERO = -99.0
# SRILM's gt1min, gt2min, gt3min: n-grams that occur less often are left out. Its gt1max, gt2max, gt3max: counts above
# are not discounted.
MINIMUM_COUNTS = (1, 1, 2)
MAXIMUM_COUNTS = (1, 7, 7)
# SRILM's Prob_Epsilon: less probability than this counts as none.
EPSILON = 3e-6
# What sums of probabilities in double precision may be off by.
ROUNDING = 1e-10


@dataclass(frozen=True)
class NgramModel:
    """A back-off model: for each order n a table of n-grams.

    words: word of each id, sorted; the unigrams in this order.
    keys: per order, sorted: index of the first n-1 words in the table below * number of words + id of the last word.
    log_probs: per order, log10 of the probability, LOG_ZERO for 0.
    log_backoffs: per order but the last, log10 of the back-off weight, 0 for an n-gram that is no context.
    """

    words: list[str]
    keys: list[NDArray[np.int64]]
    log_probs: list[NDArray[np.float64]]
    log_backoffs: list[NDArray[np.float64]]

    @property
    def order(self) -> int:
        """Length of the longest n-grams."""
        return len(self.keys)


@dataclass(frozen=True)
class Scores:
    """What a model says of each sentence: arrays as long as there are sentences.

    log_probs: log10 of the probability, `</s>` included, the words below excluded. words: tokens without `</s>`.
    unknown: words outside the vocabulary, unless the model has a probability for `<unk>`, which is then theirs; zero:
    known words of probability 0. Both are left out, as SRILM does.
    """

    log_probs: NDArray[np.float64]
    words: NDArray[np.int64]
    unknown: NDArray[np.int64]
    zero: NDArray[np.int64]


def train(sentences: Iterable[Sequence[str]], order: int = 3) -> NgramModel:
    """Estimate a model of order 2 or 3 from tokenised sentences; empty ones and RESERVED words are skipped.

    Raises ValueError when there is no word at all.
    """
    kept = [words for sentence in sentences if (words := [word for word in sentence if word not in RESERVED])]
    if not kept:
        raise ValueError("a language model needs at least one sentence with a word; the training captions have none")
    words = sorted({START, END}.union(*kept))
    stream, offsets, _ = _stream(kept, words)

    events = np.bincount(stream[offsets > 0], minlength=len(words))
    with np.errstate(divide="ignore"):
        # SRILM's discount of unigrams is always out of range (0), and then not applied.
        unigrams = np.maximum(np.log10(events / events.sum()), LOG_ZERO)
    model = NgramModel(words, [np.arange(len(words))], [unigrams], [])
    index = stream
    for n in range(2, order + 1):
        inside = np.flatnonzero(offsets >= n - 1)
        keys, inverse, counts = np.unique(
            index[inside - 1] * len(words) + stream[inside], return_inverse=True, return_counts=True
        )
        index = np.full(len(stream), -1)
        index[inside] = inverse
        model = _extended(model, keys, counts)
    logger.info("%d sentences; n-grams of order 1, 2, ...: %s", len(kept), [len(keys) for keys in model.keys])
    return model


def score(model: NgramModel, sentences: Sequence[Sequence[str]]) -> Scores:
    """Score tokenised sentences; an empty one has the probability of `</s>` after `<s>`."""
    stream, offsets, unknown_id = _stream(sentences, model.words)
    event = offsets > 0
    # found[n - 1]: for each position, the index of the n-gram that ends there, or -1.
    found = [stream]
    for n in range(2, model.order + 1):
        shorter = np.concatenate(([-1], found[-1][:-1]))
        inside = np.flatnonzero((offsets >= n - 1) & (shorter >= 0) & (stream >= 0))
        index = np.full(len(stream), -1)
        index[inside] = find(model.keys[n - 1], shorter[inside] * len(model.words) + stream[inside])
        found.append(index)

    log_probs = np.zeros(len(stream))
    pending = event.copy()
    for n in range(model.order, 0, -1):
        here = pending & (found[n - 1] >= 0)
        log_probs[here] += model.log_probs[n - 1][found[n - 1][here]]
        pending &= ~here
        if n > 1:
            context = np.concatenate(([-1], found[n - 2][:-1]))
            backed = pending & (context >= 0) & (offsets >= n - 1)
            log_probs[backed] += model.log_backoffs[n - 2][context[backed]]

    impossible = event & ((stream < 0) | (log_probs <= LOG_ZERO))
    unknown = impossible & (stream == unknown_id)
    zero = impossible & ~unknown
    counted = event & ~unknown & ~zero
    sentence, total = np.cumsum(offsets == 0) - 1, len(sentences)
    return Scores(
        np.asarray(np.bincount(sentence[counted], log_probs[counted], total), np.float64),
        np.bincount(sentence[event], minlength=total) - 1,
        np.bincount(sentence[unknown], minlength=total),
        np.bincount(sentence[zero], minlength=total),
    )


def perplexity(log_prob: float, words: int, left_out: int, sentences: int) -> float | None:
    """SRILM's perplexity (ppl1 with no `sentences`) from the log10 of a probability; None when nothing is predicted."""
    predicted = words - left_out + sentences
    return 10 ** (-log_prob / predicted) if predicted > 0 else None


def _stream(
    sentences: Sequence[Sequence[str]], words: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Ids of all sentences in a row, each from START to END; the offset in its sentence; the id of UNKNOWN, or -1."""
    ids = {word: index for index, word in enumerate(words)}
    start, end, unknown = ids.pop(START), ids.pop(END), ids.pop(UNKNOWN, -1)
    stream = np.fromiter(
        chain.from_iterable((start, *(ids.get(word, unknown) for word in words), end) for words in sentences),
        np.int64,
    )
    lengths = np.fromiter((len(sentence) + 2 for sentence in sentences), np.int64, len(sentences))
    return stream, np.arange(len(stream)) - np.repeat(np.cumsum(lengths) - lengths, lengths), unknown


def find(table: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Index of each key in the sorted table, or -1."""
    if not len(table):
        return np.full(len(keys), -1)
    index = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[index] == keys, index, -1)


def _extended(model: NgramModel, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> NgramModel:
    """The model with one order more, estimated from the counts of these n-grams."""
    n, vocabulary = model.order + 1, len(model.words)
    probs = _discounted(counts, keys // vocabulary, n, vocabulary - 1)
    frequent = counts >= MINIMUM_COUNTS[n - 1]
    keys, probs = keys[frequent], probs[frequent]
    contexts, last = keys // vocabulary, keys % vocabulary
    # The n-gram without its first word is in the table below: nothing is left out there, and it occurs as often.
    shorter = last if n == 2 else find(model.keys[n - 2], model.keys[n - 2][contexts] % vocabulary * vocabulary + last)
    lower = 10 ** model.log_probs[n - 2][shorter]

    size = len(model.keys[n - 2])
    explicit, covered = np.bincount(contexts, probs, size), np.bincount(contexts, lower, size)
    left = np.where(np.abs(1 - explicit) < ROUNDING, 0, 1 - explicit)
    free = np.where(np.abs(1 - covered) < ROUNDING, 0, 1 - covered)
    # Where there is nothing to back off to, what is left goes to the n-grams themselves.
    full = free == 0
    probs = np.where((full & (left > 0))[contexts], probs / explicit[contexts], probs)
    with np.errstate(divide="ignore"):
        backoffs = np.maximum(np.log10(np.where(full, 1, left / np.where(full, 1, free))), LOG_ZERO)
    return NgramModel(
        model.words, [*model.keys, keys], [*model.log_probs, np.log10(probs)], [*model.log_backoffs, backoffs]
    )


def _discounted(counts: NDArray[np.int64], contexts: NDArray[np.int64], n: int, vocabulary: int) -> NDArray[np.float64]:
    """Discounted probability of each n-gram after its context; 0 below the minimum count."""
    minimum = MINIMUM_COUNTS[n - 1]
    ratios = _good_turing(counts, MAXIMUM_COUNTS[n - 1])
    discounts = np.where(counts < minimum, 0, ratios[np.minimum(counts, len(ratios) - 1)])
    totals = np.bincount(contexts, counts)
    room = np.bincount(contexts) < vocabulary
    if minimum == 1 and len(ratios) == 2:
        room[:] = False  # no discounting at this order, so no mass is asked for
    while True:
        probs = discounts * counts / totals[contexts]
        # A context whose n-grams leave no mass, though other words exist, gets a larger denominator (Doug Paul).
        full = room & (np.bincount(contexts, probs) > 1 - EPSILON)
        if not full.any():
            return probs
        totals = totals + full


def _good_turing(counts: NDArray[np.int64], maximum: int) -> NDArray[np.float64]:
    """Discount ratio of each count from 0 to the highest that is discounted, and a last one, 1, for all above.

    (r* / r - k) / (1 - k) with r* = (r + 1) n[r + 1] / n[r] and k = (m + 1) n[m + 1] / n[1] (Katz 1987), where m is the
    highest count below which no n[r + 1] is 0; 1 where that is out of range.
    """
    number = np.bincount(np.minimum(counts, maximum + 2), minlength=maximum + 3)
    maximum = max((r for r in range(1, maximum + 1) if number[1] and number[r + 1]), default=0)
    count = np.arange(1, maximum + 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        common = (maximum + 1) * number[maximum + 1] / number[1]
        plain = (count + 1) * number[count + 1] / (count * number[count])
        ratios = (plain - common) / (1 - common)
    valid = np.isfinite(ratios) & (ratios > EPSILON) & (plain <= 1)
    return np.concatenate(([1], np.where(valid, ratios, 1), [1]))
