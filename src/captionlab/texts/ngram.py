"""A back-off n-gram language model, estimated as by SRILM's `ngram-count` without options.

The model uses Good-Turing discounting with Katz back-off (Katz 1987; Stolcke 2002). Trigrams that occur once are left
out. Counts above 7 are not discounted. There is no token for unknown words. The table of each order is sorted by (index
of the first n-1 words in the table of the next lower order, last word), so that a whole corpus is scored with a few
binary searches.
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
# Logarithm of 0 in the ARPA format.
LOG_ZERO = -99.0
# SRILM's gt1min, gt2min and gt3min: n-grams that occur less often are left out. SRILM's gt1max, gt2max and gt3max:
# larger counts are not discounted.
MINIMUM_COUNTS = (1, 1, 2)
MAXIMUM_COUNTS = (1, 7, 7)
# SRILM's Prob_Epsilon: a smaller probability counts as 0.
EPSILON = 3e-6
# Rounding error of sums of probabilities in double precision.
ROUNDING = 1e-10


@dataclass(frozen=True)
class NgramModel:
    """A back-off model with a table of n-grams for each order n.

    `words` has the word of each id, sorted; the unigrams are in this order. `keys` has per order the sorted keys: index
    of the first n-1 words in the table of the next lower order * number of words + id of the last word. `log_probs` has
    per order the log10 of the probability, LOG_ZERO for 0. `log_backoffs` has per order except the last the log10 of
    the back-off weight, 0 for an n-gram that is no context.
    """

    words: list[str]
    keys: list[NDArray[np.int64]]
    log_probs: list[NDArray[np.float64]]
    log_backoffs: list[NDArray[np.float64]]

    @property
    def order(self) -> int:
        """Return the length of the longest n-grams."""
        return len(self.keys)


@dataclass(frozen=True)
class Scores:
    """The scores of sentences by a model, as arrays (sentences,).

    `log_probs` is the log10 of the probability of a sentence, including `</s>` and without the words that `unknown` and
    `zero` count, as in SRILM. `words` is the number of tokens without `</s>`. `unknown` is the number of words outside
    the vocabulary; it is 0 if the model has a nonzero probability of `<unk>`, which is then used for these words.
    `zero` is the number of other tokens with probability 0.
    """

    log_probs: NDArray[np.float64]
    words: NDArray[np.int64]
    unknown: NDArray[np.int64]
    zero: NDArray[np.int64]


def train(sentences: Iterable[Sequence[str]], order: int = 3) -> NgramModel:
    """Estimate a model of order 2 or 3 from tokenized sentences, without empty sentences and RESERVED words.

    Raises ValueError if there is no word at all.
    """
    kept = [words for sentence in sentences if (words := [word for word in sentence if word not in RESERVED])]
    if not kept:
        raise ValueError("a language model needs at least one sentence with a word; the training captions have none")
    words = sorted({START, END}.union(*kept))
    stream, offsets, _ = _stream(kept, words)

    events = np.bincount(stream[offsets > 0], minlength=len(words))
    with np.errstate(divide="ignore"):
        # SRILM's discount of unigrams is always out of range (0) and therefore not applied.
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
    """Score tokenized sentences; an empty sentence has the probability of `</s>` after `<s>`."""
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
    """Return SRILM's perplexity from the log10 of a probability, or None if nothing is predicted.

    `sentences` is the number of predicted ends of sentences; with 0, the result is SRILM's ppl1.
    """
    predicted = words - left_out + sentences
    return 10 ** (-log_prob / predicted) if predicted > 0 else None


def _stream(
    sentences: Sequence[Sequence[str]], words: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return the ids of all sentences in one array, their offsets in the sentence, and the id of UNKNOWN or -1.

    Each sentence goes from START to END.
    """
    ids = {word: index for index, word in enumerate(words)}
    start, end, unknown = ids.pop(START), ids.pop(END), ids.pop(UNKNOWN, -1)
    stream = np.fromiter(
        chain.from_iterable((start, *(ids.get(word, unknown) for word in words), end) for words in sentences),
        np.int64,
    )
    lengths = np.fromiter((len(sentence) + 2 for sentence in sentences), np.int64, len(sentences))
    return stream, np.arange(len(stream)) - np.repeat(np.cumsum(lengths) - lengths, lengths), unknown


def find(table: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of each key in the sorted table, or -1."""
    if not len(table):
        return np.full(len(keys), -1)
    index = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[index] == keys, index, -1)


def _extended(model: NgramModel, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> NgramModel:
    """Return the model with the next order, estimated from the counts of its n-grams."""
    n, vocabulary = model.order + 1, len(model.words)
    probs = _discounted(counts, keys // vocabulary, n, vocabulary - 1)
    frequent = counts >= MINIMUM_COUNTS[n - 1]
    keys, probs = keys[frequent], probs[frequent]
    contexts, last = keys // vocabulary, keys % vocabulary
    # The n-gram without its first word is in the table of the next lower order: no n-gram was left out there, and it
    # occurs at least as often.
    shorter = last if n == 2 else find(model.keys[n - 2], model.keys[n - 2][contexts] % vocabulary * vocabulary + last)
    lower = 10 ** model.log_probs[n - 2][shorter]

    size = len(model.keys[n - 2])
    explicit, covered = np.bincount(contexts, probs, size), np.bincount(contexts, lower, size)
    left = np.where(np.abs(1 - explicit) < ROUNDING, 0, 1 - explicit)
    free = np.where(np.abs(1 - covered) < ROUNDING, 0, 1 - covered)
    # If there is nothing to back off to, the remaining probability goes to the n-grams themselves.
    full = free == 0
    probs = np.where((full & (left > 0))[contexts], probs / explicit[contexts], probs)
    with np.errstate(divide="ignore"):
        backoffs = np.maximum(np.log10(np.where(full, 1, left / np.where(full, 1, free))), LOG_ZERO)
    return NgramModel(
        model.words, [*model.keys, keys], [*model.log_probs, np.log10(probs)], [*model.log_backoffs, backoffs]
    )


def _discounted(counts: NDArray[np.int64], contexts: NDArray[np.int64], n: int, vocabulary: int) -> NDArray[np.float64]:
    """Return the discounted probability of each n-gram after its context; 0 below the minimum count."""
    minimum = MINIMUM_COUNTS[n - 1]
    ratios = _good_turing(counts, MAXIMUM_COUNTS[n - 1])
    discounts = np.where(counts < minimum, 0, ratios[np.minimum(counts, len(ratios) - 1)])
    totals = np.bincount(contexts, counts)
    room = np.bincount(contexts) < vocabulary
    if minimum == 1 and len(ratios) == 2:
        room[:] = False  # no discounting at this order, so no probability mass is needed
    while True:
        probs = discounts * counts / totals[contexts]
        # If the n-grams of a context leave no mass although other words exist, the context gets a larger denominator
        # (Doug Paul).
        full = room & (np.bincount(contexts, probs) > 1 - EPSILON)
        if not full.any():
            return probs
        totals = totals + full


def _good_turing(counts: NDArray[np.int64], maximum: int) -> NDArray[np.float64]:
    """Return the discount ratio of each count from 0 to the highest discounted count, and a last ratio of 1.

    The last ratio is for all larger counts. The ratio of a count r is (r* / r - k) / (1 - k) with r* = (r + 1) n[r + 1]
    / n[r] and k = (m + 1) n[m + 1] / n[1] (Katz 1987). m is the highest count, at most `maximum`, with n[m + 1] > 0; it
    is 0 if n[1] is 0. If the ratio is out of range, it is 1.
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
