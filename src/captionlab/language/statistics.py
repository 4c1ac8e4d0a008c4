"""Statistics of the language of captions (Ma et al. 2022, Table 4), and associations of lemmas with caption types."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from captionlab.language.patterns import Tagged
from captionlab.texts.counting import ngrams
from captionlab.texts.ngram import Scores, perplexity
from captionlab.texts.tagging import NOUNS

# A caption analysed by the tagger: its words as written, their lemmas and their tags.
Analysed = tuple[Sequence[str], Sequence[str], Sequence[str]]

DISTINCT = (1, 2, 3)
# Parts of speech whose lemmas are associated with types of captions, each with the tags that its words may have,
# because taggers take some lower-case nouns for names.
ASSOCIATED = {"ADJ": frozenset({"ADJ"}), "NOUN": NOUNS}


@dataclass(frozen=True)
class Statistic:
    """A statistic of the captions of a corpus.

    `value` is None if it has no meaning, and `note` says why. `n` is the number of captions that it is computed from.
    """

    name: str
    value: float | None
    n: int
    note: str | None = None


@dataclass(frozen=True)
class Association:
    """A lemma of a part of speech in captions of a type, with its number of occurrences and its association in nats."""

    caption_type: str
    tag: str
    lemma: str
    count: int
    association: float


def caption_measures(
    tokens: Sequence[Sequence[str]], tagged: Sequence[tuple[Sequence[str], Sequence[str]]], scores: Scores
) -> dict[str, list[Any]]:
    """Return columns of MEASURES, one row per caption.

    log_prob and perplexity are None for a caption without tokens, which SRILM skips.
    """
    nouns = [[word.lower() for word, tag in zip(*words_tags, strict=True) if tag in NOUNS] for words_tags in tagged]
    left_out = (scores.unknown + scores.zero).tolist()
    numbers = [*zip(scores.log_probs.tolist(), map(len, tokens), left_out, strict=True)]
    return {
        "words": [length for _, length, _ in numbers],
        "repeated": [len(words) - len({*words}) for words in tokens],
        "unknown": scores.unknown.tolist(),
        "impossible": scores.zero.tolist(),
        "log_prob": [log_prob if length else None for log_prob, length, _ in numbers],
        "perplexity": [perplexity(*of_caption, 1) if of_caption[1] else None for of_caption in numbers],
        "nouns": list(map(len, nouns)),
        "distinct_nouns": [len({*words}) for words in nouns],
    }


def corpus_statistics(
    tokens: Sequence[Sequence[str]], measures: dict[str, list[Any]], scores: Scores
) -> list[Statistic]:
    """Return the statistics of the captions of a captioner on a corpus, from their tokens and `caption_measures`.

    perplexity is the perplexity of the corpus (all words and ends of sentences together), perplexity_without_end is
    SRILM's ppl1, and mean_perplexity is the mean over captions. distinct_n is the number of different n-grams divided
    by the number of all n-grams (Li et al. 2016). Raises ValueError if there are no captions.
    """
    captions, spoken = len(tokens), sum(map(bool, tokens))
    if not captions:
        raise ValueError("there are no captions to describe")
    total, unknown = sum(measures["words"]), sum(measures["unknown"])
    left_out = unknown + sum(measures["impossible"])
    log_prob = sum(value for value in measures["log_prob"] if value is not None)
    perplexities = [value for value in measures["perplexity"] if value is not None]

    def over_words(name: str, value: float | None, n: int = spoken) -> Statistic:
        return Statistic(name, value, n, None if value is not None else "no caption has what this is computed from")

    return [
        Statistic("captions", captions, captions),
        Statistic("empty_captions", captions - spoken, captions),
        Statistic("mean_length", total / captions, captions),
        Statistic("tokens", total, captions),
        Statistic("types", len({word for words in tokens for word in words}), captions),
        *(over_words(f"distinct_{n}", distinct(tokens, n), sum(len(words) >= n for words in tokens)) for n in DISTINCT),
        over_words("repeated_share", sum(measures["repeated"]) / total if total else None),
        over_words("unknown_share", unknown / total if total else None),
        Statistic("nouns", fmean(measures["nouns"]), captions),
        Statistic("distinct_nouns", fmean(measures["distinct_nouns"]), captions),
        over_words("perplexity", perplexity(log_prob, total, left_out, spoken)),
        over_words("perplexity_without_end", perplexity(log_prob, total, left_out, 0)),
        over_words("mean_perplexity", fmean(perplexities) if perplexities else None),
    ]


def distinct(captions: Iterable[Sequence[str]], n: int) -> float | None:
    """Return the number of different n-grams of the captions divided by all n-grams; None if there are none."""
    counts = Counter(gram for words in captions for gram in ngrams(words, n))
    return len(counts) / counts.total() if counts else None


def associate(captions: Mapping[str, Sequence[Analysed]]) -> list[Association]:
    """Return the local mutual information (Evert 2005) of each adjective and noun, by its lemma, with each type.

    `captions` has the captions of each type. The association is c * ln(c * N / (C * n)). c counts the lemma with this
    part of speech in this type and C in all types. n is the number of tokens of the type and N the number of all
    tokens, including punctuation, as the authors count it. This is the formula of Dessì et al. for two types
    (repository emecomm_context), extended to any number of types. Only words in `of_speech` are counted. A lemma that
    does not occur in a type has association 0 with it and is left out. The result is sorted by type in the given order,
    tag, descending association and lemma.
    """
    kinds = of_speech(caption for of_type in captions.values() for caption in of_type)
    pairs = {
        caption_type: [pair for caption in of_type for pair in associated_pairs(caption, kinds)]
        for caption_type, of_type in captions.items()
    }
    everywhere = Counter(pair for of_type in pairs.values() for pair in of_type)
    tokens = {caption_type: sum(len(words) for words, *_ in of_type) for caption_type, of_type in captions.items()}
    total, found = sum(tokens.values()), []
    for caption_type, of_type in pairs.items():
        associations = [
            Association(caption_type, *pair, n, n * math.log(n * total / (everywhere[pair] * tokens[caption_type])))
            for pair, n in Counter(of_type).items()
        ]
        found += sorted(associations, key=lambda a: (a.tag, -a.association, a.lemma))
    return found


def of_speech(captions: Iterable[Analysed]) -> dict[str, set[str]]:
    """Return, for each part of speech of ASSOCIATED, the words that have one of its tags at least half of the time.

    This corrects errors of the tagger on single captions: it sometimes tags "umbrellas" as an adjective.
    """
    pairs = [[(word.lower(), tag) for word, tag in zip(words, tags, strict=True)] for words, _, tags in captions]
    return {tag: mostly_tagged(pairs, tags) for tag, tags in ASSOCIATED.items()}


def associated_pairs(caption: Analysed, kinds: Mapping[str, AbstractSet[str]]) -> Iterator[tuple[str, str]]:
    """Yield the tag and the lemma of each adjective and noun of a caption; `kinds` are the words from `of_speech`."""
    for word, lemma, tag in zip(*caption, strict=True):
        if word.lower() in kinds.get(tag, ()):
            yield tag, lemma


def repeats_itself(words: Sequence[str]) -> bool:
    """Return whether a word follows itself or a trigram occurs twice.

    Decoders can prevent both: trigrams are blocked (Paulus et al. 2018), and newfc forbids a word after itself.
    """
    trigrams = list(ngrams(words, 3))
    return any(one == after for one, after in ngrams(words, 2)) or len({*trigrams}) < len(trigrams)


def mostly_tagged(captions: Iterable[Tagged], tags: AbstractSet[str]) -> set[str]:
    """Return the words that have one of the tags at least half of the time."""
    pairs = [pair for caption in captions for pair in caption]
    tagged, times = Counter(word for word, tag in pairs if tag in tags), Counter(word for word, _ in pairs)
    return {word for word in times if 2 * tagged[word] >= times[word]}
