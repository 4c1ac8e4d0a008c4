"""What the captions of roles are worth: a role is a captioner, or several that differ by the seed of their training.

Values are means over seeds; the interval is that of `seeds_interval`, cut where a measure ends. Perplexities have
geometric means, and their differences follow from ratios. A role is compared with the reference role seed by seed: each
of its captioners with that of the reference which it was trained from, else with their mean.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.summary import (
    BY_AND,
    CONNECTED,
    NLG_METRICS,
    PER_CENT,
    SPICE_METRICS,
    Job,
    Metric,
    Result,
    images_interval,
    mean,
    nlg_results,
    paired_interval,
)
from captionlab.intervals import geometric_interval, seeds_interval, share_interval
from captionlab.papers.probing.connections import HALF_OF_NEIGHBOURS, connection_results
from captionlab.papers.probing.top_words import MEASURES as TOP_WORDS
from captionlab.papers.probing.top_words import top_word_results

# What a share that most images have is held against.
HALF = "half of the images"
PERPLEXITY = "perplexity"
# Measures by which roles are told from each other, and not only from the reference role.
BETWEEN_ROLES = (*TOP_WORDS, CONNECTED, BY_AND)
# Corpus, measure, scorer.
Place = tuple[str, str, str | None]
Results = Mapping[Place, Result]


@dataclass(frozen=True)
class PrintedScorer:
    """The paper's name of a scorer, and the factor that puts its scores into per cent."""

    label: str
    factor: float


def corpus_perplexity(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Perplexity (...) from sums (..., 2) of log10-probabilities and of words predicted, ends of sentences included."""
    return 10.0 ** (-sums[..., 0] / sums[..., 1])


FLUENCY_METRICS = {
    PERPLEXITY: Metric("fluency", corpus_perplexity, scale=1.0),
    **{name: Metric(name, mean, scale=1.0) for name in ("length", "nouns", "distinct nouns", "repeated nouns")},
}


def captioner_results(
    job: Job,
    scorers: Mapping[str, PrintedScorer],
    seed: int,
    alignment: pa.Table,
    nlg: pa.Table,
    measures: pa.Table,
    tagged: pa.Table,
    spice: pa.Table | None = None,
) -> dict[Place, Result]:
    """Every measure of a captioner by corpus and scorer, from its tables with a row for each caption."""
    found = [*nlg_results(job, nlg, seed, NLG_METRICS), *nlg_results(job, fluency(measures), seed, FLUENCY_METRICS)]
    if spice is not None:
        found += nlg_results(job, spice, seed, SPICE_METRICS)
    found += [*top_word_results(job, tagged, seed), *connection_results(job, tagged, seed)]
    places: dict[Place, Result] = {(result.corpus, result.metric, None): result for result in found}
    for name, scorer in scorers.items():
        rows = alignment.filter(pa.compute.equal(alignment["scorer"], name))
        for result in nlg_results(job, rows, seed, {"score": Metric("score", mean, scorer.factor)}):
            places[result.corpus, "score", scorer.label] = result
    return places


def fluency(measures: pa.Table) -> pa.Table:
    """The columns of FLUENCY_METRICS from measures of captions; captions without words have no perplexity."""
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


def value_rows(roles: Mapping[str, Sequence[str]], results: Mapping[str, Results]) -> Iterator[dict[str, Any]]:
    """Rows of ROLE_VALUES: every measure that all captioners of a role have."""
    for role, captioners in roles.items():
        for place in _shared(results, captioners):
            found = [results[captioner][place] for captioner in captioners]
            if place[1] == PERPLEXITY:
                value, low, high = geometric_interval(*_numbers(found), len(found[0].images))
            else:
                value, low, high = seeds_interval(_numbers(found)[0], images_interval(found))
            if place[1] in PER_CENT:
                high = min(high, 100.0)
            if place[1] != "score":
                low = max(low, 0.0)
            yield {**_place(role, place), **_measured("value", (value, low, high), found)}


def difference_rows(
    roles: Mapping[str, Sequence[str]],
    results: Mapping[str, Results],
    reference: str,
    parents: Mapping[str, str | None],
    rewards: Mapping[str, Iterable[str]],
) -> Iterator[dict[str, Any]]:
    """Rows of ROLE_DIFFERENCES: each role against the reference role.

    parents: of each captioner the one that it was finetuned from. rewards: of each role the labels of the scorers
    that rewarded it. Raises ValueError when two captioners were evaluated on different images.
    """
    for role, captioners in roles.items():
        if role == reference:
            continue
        for place in _shared(results, [*captioners, *roles[reference]]):
            found = [results[captioner][place] for captioner in captioners]
            others = [[results[name][place] for name in _origin(one, roles[reference], parents)] for one in captioners]
            for one, of_one in zip(found, others, strict=True):
                for other in of_one:
                    _same_images(one, other)
            apart = _ratio_difference if place[1] == PERPLEXITY else _difference
            yield {
                **_place(role, place),
                "against": reference,
                "own": None if place[2] is None else place[2] in rewards.get(role, ()),
                "margin": None,
                **_measured("difference", apart(found, others), found),
            }


def between_rows(
    roles: Mapping[str, Sequence[str]],
    results: Mapping[str, Results],
    reference: str,
    parents: Mapping[str, str | None],
) -> Iterator[dict[str, Any]]:
    """Rows of ROLE_DIFFERENCES: each role against every other but the reference role, by BETWEEN_ROLES.

    And whether less than half of a role's neighbouring noun phrases are connected.
    """
    kept = {
        name: {place: result for place, result in places.items() if place[1] in BETWEEN_ROLES}
        for name, places in results.items()
    }
    others = {role: captioners for role, captioners in roles.items() if role != reference}
    for other in others:
        yield from difference_rows(others, kept, other, parents, {})
    for row in value_rows(others, kept):
        if row["measure"] == CONNECTED:
            ends = {"difference": row.pop("value"), "ci_low": row["ci_low"], "ci_high": row["ci_high"]}
            yield {
                **row,
                **{end: value - 50.0 for end, value in ends.items()},
                "against": HALF_OF_NEIGHBOURS,
                "own": None,
                "margin": None,
            }


def pattern_rows(
    roles: Mapping[str, Sequence[str]], patterns: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of ROLE_VALUES and of ROLE_DIFFERENCES: how many captions follow a pattern, and whether most do.

    patterns: of each captioner its rows of PATTERNS. `first pattern` is the sentence pattern that was mined from the
    captioner's own captions and that most of them follow; `published prefix` and `published pattern` are the first that
    the paper prints for the model whose name the role has, `published second prefix` is its second, of captions that
    do not start with the first.
    """
    values, differences = [], []
    for role, captioners in roles.items():
        for corpus in dict.fromkeys(row["corpus"] for row in patterns[captioners[0]]):
            wanted = {
                "first pattern": ("mined", None, "sentence", 1, "whole"),
                "published prefix": ("published", role, "prefix", 1, "start"),
                "published second prefix": ("published", role, "prefix", 2, "start"),
                "published pattern": ("published", role, "sentence", 1, "whole"),
            }
            for measure, (source, model, part, rank, column) in wanted.items():
                found = [_pattern(patterns[name], corpus, source, model, part, rank) for name in captioners]
                if source == "mined":  # captions that have nothing in common follow no pattern
                    of_corpus = [next(row for row in patterns[name] if row["corpus"] == corpus) for name in captioners]
                    found = [one or {**row, column: 0.0} for one, row in zip(found, of_corpus, strict=True)]
                rows = [one for one in found if one]
                if len(rows) < len(captioners):
                    continue
                shares, counts = np.array([row[column] for row in rows]), [row["n"] for row in rows]
                # Other seeds see the same images, so they are no further units.
                of_images = share_interval(float(shares.mean()), 0.0, min(counts), min(counts))
                share, low, high = (100.0 * end for end in seeds_interval(shares, of_images))
                low, high = max(low, 0.0), min(high, 100.0)
                row = {**_place(role, (corpus, measure, None)), "seeds": len(rows), "n": min(counts)}
                values.append({**row, "value": share, "ci_low": low, "ci_high": high})
                half = {"difference": share - 50.0, "ci_low": low - 50.0, "ci_high": high - 50.0}
                differences.append({**row, **half, "against": HALF, "own": None, "margin": None})
    return values, differences


def _pattern(
    rows: Sequence[Mapping[str, Any]], corpus: str, source: str, model: str | None, part: str, rank: int
) -> Mapping[str, Any] | None:
    """The pattern of its kind that has a rank."""
    place = (corpus, source, model, part, rank)
    names = ("corpus", "source", "model", "role", "rank")
    return next((row for row in rows if tuple(row[name] for name in names) == place), None)


def _origin(captioner: str, reference: Sequence[str], parents: Mapping[str, str | None]) -> Sequence[str]:
    """The captioner of the reference role that this one descends from; all of them when there is none."""
    ancestor: str | None = captioner
    while ancestor is not None and ancestor not in reference:
        ancestor = parents.get(ancestor)
    return reference if ancestor is None else [ancestor]


def _shared(results: Mapping[str, Results], captioners: Sequence[str]) -> list[Place]:
    """What was measured of all these captioners, in the order of the first."""
    first, *others = captioners
    return [place for place in results[first] if all(place in results[other] for other in others)]


def _same_images(one: Result, other: Result) -> None:
    if one.images != other.images:
        apart = min(set(one.images) ^ set(other.images))
        raise ValueError(
            f"{one.job.captioner} and {other.job.captioner} were evaluated on different images of {one.corpus} "
            f"({one.metric}): only one of them has {apart!r}"
        )


def _place(role: str, place: Place) -> dict[str, Any]:
    corpus, measure, scorer = place
    generated = {"experiment": "generated", "subject": role, "source": None, "level": None}
    return {**generated, "corpus": corpus, "measure": measure, "scorer": scorer}


def _numbers(results: Sequence[Result]) -> tuple[np.ndarray, np.ndarray]:
    """Values (S,) and resampled values (S, resamples) of so many captioners."""
    return np.array([one.value for one in results]), np.array([one.resampled for one in results])


def _difference(found: Sequence[Result], others: Sequence[Sequence[Result]]) -> tuple[float, float, float]:
    """How far captioners are above the mean of their others, with the ends of the interval."""
    means = np.array([_numbers(of_one)[0].mean() for of_one in others])
    return seeds_interval(_numbers(found)[0] - means, paired_interval(found, others))


def _ratio_difference(found: Sequence[Result], others: Sequence[Sequence[Result]]) -> tuple[float, float, float]:
    """The same of geometric means: the ratio to the others, with its interval, of the geometric mean of all others."""
    values, resampled = _numbers(found)
    means = [[np.exp(np.log(numbers).mean(axis=0)) for numbers in _numbers(of_one)] for of_one in others]
    of_values = np.array([value for value, _ in means])
    of_resamples = np.array([numbers for _, numbers in means])
    ratios = geometric_interval(values / of_values, resampled / of_resamples, len(found[0].images))
    mean, low, high = (float(np.exp(np.log(of_values).mean())) * (ratio - 1.0) for ratio in ratios)
    return mean, low, high


def _measured(name: str, number: tuple[float, float, float], results: Sequence[Result]) -> dict[str, Any]:
    value, low, high = number
    return {name: value, "ci_low": low, "ci_high": high, "seeds": len(results), "n": len(results[0].images)}
