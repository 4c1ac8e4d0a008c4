"""Count colours among the adjectives that are associated with a type of captions (Dessì et al. 2023, §5, Table 7).

The paper concludes from its lists that adjectives of finetuned captions are "nearly all highly visual descriptive terms
(in particular, colours)". Colours can be counted. How visual other words are cannot be read from the captions.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from captionlab.evaluation.rows import row
from captionlab.language.statistics import associate, associated_pairs, of_speech
from captionlab.reporting.runs.values import Row
from captionlab.statistics.intervals import bootstrap_interval, resampled_sums

EXPERIMENT = "adjectives"
MEASURE = "colours among the top adjectives"
# The basic colour terms of English (Berlin and Kay 1969), grey in both spellings.
COLOURS = frozenset(
    {"black", "white", "red", "green", "yellow", "blue", "brown", "purple", "pink", "orange", "grey", "gray"}
)
TAG = "ADJ"
# Length of a list of adjectives, as in the paper.
TOP = 10
# Number of adjectives of each type, the most associated first, that may be in the top list of a resample.
CONSIDERED = 100


def colour_rows(captions: Mapping[str, Iterable[Row]], seed: int) -> Iterator[dict[str, Any]]:
    """Yield rows of ROLE_DIFFERENCES: how many more colours are among the TOP adjectives of one type than of another.

    `captions` maps each type to its rows of TAGGED. Associations are computed anew in each resample of the images.
    """
    by_corpus: dict[str, dict[str, list[Row]]] = defaultdict(lambda: {name: [] for name in captions})
    for name, rows in captions.items():
        for caption in rows:
            by_corpus[caption["corpus"]][name].append(caption)
    for corpus, of_types in by_corpus.items():
        spoken = {name: rows for name, rows in of_types.items() if rows}
        if len(spoken) < 2:
            continue
        lemmas, counts = _counts(spoken)
        is_colour = np.array([lemma in COLOURS for lemma in lemmas], dtype=bool)
        shape = (-1, len(spoken), len(lemmas) + 1)
        found = _colours_on_top(counts.sum(axis=0).reshape(shape), is_colour)[0]
        drawn = _colours_on_top(resampled_sums(counts, seed).reshape(shape), is_colour)
        for (one, name), (other, against) in permutations(enumerate(spoken), 2):
            apart, resampled = float(found[one] - found[other]), drawn[:, one] - drawn[:, other]
            number = (apart, *bootstrap_interval(apart, resampled, (-TOP, TOP)))
            yield row(corpus, EXPERIMENT, name, MEASURE, number, len(counts), against=against)


def _counts(captions: Mapping[str, Sequence[Row]]) -> tuple[list[str], np.ndarray]:
    """Return adjectives by name, and their counts for each image and type, with the number of tokens last.

    Counts have the shape (images, types * (adjectives + 1)).
    """
    analysed = {
        name: [(caption["words"], caption["lemmas"], caption["tags"]) for caption in rows]
        for name, rows in captions.items()
    }
    ranked = defaultdict[str, list[str]](list)
    for one in associate(analysed):
        if one.tag == TAG and one.association > 0:
            ranked[one.caption_type].append(one.lemma)
    lemmas = sorted({lemma for of_type in ranked.values() for lemma in of_type[:CONSIDERED]})
    places = {lemma: place for place, lemma in enumerate(lemmas)}
    kinds = of_speech(caption for of_type in analysed.values() for caption in of_type)
    named = sorted({caption["image_id"] for of_type in captions.values() for caption in of_type})
    images = {image: place for place, image in enumerate(named)}
    counts = np.zeros((len(images), len(captions), len(lemmas) + 1))
    for number, name in enumerate(captions):
        for caption, parts in zip(captions[name], analysed[name], strict=True):
            of_image = counts[images[caption["image_id"]], number]
            of_image[-1] += len(parts[0])
            for tag, lemma in associated_pairs(parts, kinds):
                if tag == TAG and lemma in places:
                    of_image[places[lemma]] += 1
    return lemmas, counts.reshape(len(images), -1)


def _colours_on_top(counts: np.ndarray, is_colour: np.ndarray) -> np.ndarray:
    """Return how many of the TOP adjectives of each type are colours, as (n, types).

    `counts` has the shape (n, types, adjectives + 1). Adjectives are ranked by local mutual information, ties by name.
    An adjective whose association is not above 0 does not count.
    """
    of_words, tokens = counts[..., :-1], counts[..., -1]
    expected = of_words.sum(axis=1, keepdims=True) * (tokens / tokens.sum(axis=1, keepdims=True))[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):  # a resample may lack a word
        association = np.where(of_words > 0, of_words * np.log(of_words / expected), 0.0)
    top = np.argsort(-association, axis=-1, kind="stable")[..., :TOP]
    return (is_colour[top] & (np.take_along_axis(association, top, axis=-1) > 0)).sum(axis=-1).astype(np.float64)
