"""Values of roles. A role is a captioner, or several captioners that differ only in the seed of their training.

Values are means over seeds, with the interval of `seeds_interval`, cut at the ends of a measure. Perplexities have
geometric means, and their differences follow from ratios. A role is compared with the reference role seed by seed: each
captioner with the reference captioner that it was trained from. If there is no such captioner, it is compared with the
mean of the reference captioners.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.rows import row
from captionlab.evaluation.summary import LOWER, NEITHER, Metric, Names, Result, mean, mean_interval, paired_interval
from captionlab.statistics.intervals import FROM_0, difference_bounds, geometric_interval, seeds_interval

PERPLEXITY = "perplexity"
# Corpus, measure, scorer.
ResultKey = tuple[str, str, str | None]
Results = Mapping[ResultKey, Result]


def corpus_perplexity(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return perplexities (...) from sums (..., 2) of log10-probabilities and of predicted words.

    Sentence ends count as predicted words. Without predicted words, a perplexity is not a number.
    """
    predicted = np.where(sums[..., 1] > 0, sums[..., 1], np.nan)
    return 10.0 ** (-sums[..., 0] / predicted)


FLUENCY_METRICS = {
    PERPLEXITY: Metric("fluency", corpus_perplexity, (1.0, math.inf), scale=1.0, better=LOWER),
    **{
        name: Metric(name, mean, FROM_0, scale=1.0, better=NEITHER)
        for name in ("length", "nouns", "distinct nouns", "repeated nouns")
    },
}


def fluency(measures: pa.Table) -> pa.Table:
    """Return the columns of FLUENCY_METRICS from measures of captions. Captions without words have no perplexity."""
    columns = {name: measures[name].to_numpy().astype(np.float64) for name in ("words", "nouns", "distinct_nouns")}
    log_probs = np.nan_to_num(measures["log_prob"].to_numpy().astype(np.float64))
    left_out = measures["unknown"].to_numpy() + measures["impossible"].to_numpy()
    predicted = np.where(columns["words"] > 0, columns["words"] - left_out + 1, 0.0)
    pairs = np.stack([log_probs, predicted], axis=1).ravel()
    return pa.table(
        {
            "corpus": measures["corpus"],
            "image_id": measures["image_id"],
            "fluency": pa.FixedSizeListArray.from_arrays(pa.array(pairs), 2),
            "length": columns["words"],
            "nouns": columns["nouns"],
            "distinct nouns": columns["distinct_nouns"],
            "repeated nouns": columns["nouns"] - columns["distinct_nouns"],
        }
    )


def value_rows(roles: Names, results: Mapping[str, Results]) -> Iterator[dict[str, Any]]:
    """Yield rows of ROLE_VALUES: every measure that all captioners of a role have."""
    for role, captioners in roles.items():
        for place in _shared(results, captioners):
            found = [results[captioner][place] for captioner in captioners]
            if place[1] == PERPLEXITY:
                number = geometric_interval(*_numbers(found), found[0].bounds)
            else:
                number = mean_interval(found)
            yield _row(role, place, number, found)


def difference_rows(
    roles: Names, results: Mapping[str, Results], reference: str, parents: Mapping[str, str | None], rewards: Names
) -> Iterator[dict[str, Any]]:
    """Yield rows of ROLE_DIFFERENCES: each role against the reference role.

    `parents` maps a captioner to the captioner that it was finetuned from. `rewards` maps a role to the labels of the
    scorers that rewarded it. Raises ValueError if two captioners were evaluated on different images.
    """
    for role, captioners in roles.items():
        if role == reference:
            continue
        for place in _shared(results, [*captioners, *roles[reference]]):
            found = [results[captioner][place] for captioner in captioners]
            others = [[results[name][place] for name in _origin(one, roles[reference], parents)] for one in captioners]
            for one, of_one in zip(found, others, strict=True):
                for other in of_one:
                    one.check_images(other)
            apart = _ratio_difference if place[1] == PERPLEXITY else _difference
            own = None if place[2] is None else place[2] in rewards.get(role, ())
            yield _row(role, place, apart(found, others), found, against=reference, own=own)


def _origin(captioner: str, reference: Sequence[str], parents: Mapping[str, str | None]) -> Sequence[str]:
    """Return the reference captioner that this captioner descends from, or else all reference captioners."""
    ancestor: str | None = captioner
    while ancestor is not None and ancestor not in reference:
        ancestor = parents.get(ancestor)
    return reference if ancestor is None else [ancestor]


def _shared(results: Mapping[str, Results], captioners: Sequence[str]) -> list[ResultKey]:
    """Return the places that all these captioners have, in the order of the first captioner.

    A measure is left out if its value or a resampled value is not a number, such as the perplexity of empty captions.
    """
    first, *others = captioners
    return [
        place
        for place, result in results[first].items()
        if result.is_defined and all(place in results[name] and results[name][place].is_defined for name in others)
    ]


def _numbers(results: Sequence[Result]) -> tuple[np.ndarray, np.ndarray]:
    """Return values (S,) and resampled values (S, resamples) of S results."""
    return np.array([one.value for one in results]), np.array([one.resampled for one in results])


def _difference(found: Sequence[Result], others: Sequence[Sequence[Result]]) -> tuple[float, float, float]:
    """Return the mean difference between captioners and the mean of their rivals, with the ends of its interval."""
    means = np.array([_numbers(of_one)[0].mean() for of_one in others])
    apart, bounds = _numbers(found)[0] - means, difference_bounds(found[0].bounds)
    return seeds_interval(apart, paired_interval(found, others), bounds)


def _ratio_difference(found: Sequence[Result], others: Sequence[Sequence[Result]]) -> tuple[float, float, float]:
    """Return the difference of geometric means and the ends of its interval.

    The interval is computed for the ratio to the rivals. The ratio minus 1 is then multiplied by the rivals' geometric
    mean.
    """
    values, resampled = _numbers(found)
    means = [[np.exp(np.log(numbers).mean(axis=0)) for numbers in _numbers(of_one)] for of_one in others]
    of_values = np.array([value for value, _ in means])
    of_resamples = np.array([numbers for _, numbers in means])
    ratios = geometric_interval(values / of_values, resampled / of_resamples, FROM_0)
    mean, low, high = (float(np.exp(np.log(of_values).mean())) * (ratio - 1.0) for ratio in ratios)
    return mean, low, high


def _row(
    role: str, place: ResultKey, number: tuple[float, float, float], found: Sequence[Result], **against: Any
) -> dict[str, Any]:
    corpus, measure, scorer = place
    images, seeds = len(found[0].images), len(found)
    return row(corpus, "generated", role, measure, number, images, seeds=seeds, scorer=scorer, **against)
