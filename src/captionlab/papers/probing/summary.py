"""Measure captions of roles by scorers, metrics and language statistics, and measure constructed captions.

A noun phrase and the next noun phrase of the same caption are neighbours. As in patterns, nouns in a row are one
phrase, even "table table". Neighbours are packed together if nothing stands between them, and connected if a
preposition or a verb does.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.metrics.nlg.metric import METRICS as NLG_METRICS
from captionlab.evaluation.metrics.nlg.metric import read_scores
from captionlab.evaluation.metrics.spice.metric import METRICS as SPICE_METRICS
from captionlab.evaluation.metrics.spice.metric import SPICE
from captionlab.evaluation.rows import row
from captionlab.evaluation.summary import Job, Metric, Result, caption_results, mean
from captionlab.language.mining import pieces_of
from captionlab.language.patterns import Tagged, tagged
from captionlab.language.schemas import CONSTRUCTED, MEASURES, PATTERNS
from captionlab.language.statistics import mostly_tagged
from captionlab.papers.probing.constructed import HALF, PrintedScorer, constructed_rows
from captionlab.papers.probing.roles import REFERENCE
from captionlab.plugins import work_module
from captionlab.reporting.claims.reading import Rows, read_by, read_rows
from captionlab.reporting.runs.roles import FLUENCY_METRICS, ResultKey, Results, difference_rows, fluency, value_rows
from captionlab.reporting.runs.values import Row
from captionlab.statistics.intervals import PER_CENT, independent_difference, seeds_interval, share_interval
from captionlab.storage.schemas import ALIGNMENT, TAGGED
from captionlab.storage.tables import read_table
from captionlab.texts.tagging import NOUNS
from captionlab.texts.unknown import UNKNOWN

# Measures of neighbours and of the most frequent words: sections 4.3 and 5.2 and appendix A of Ma et al. 2022.
CONNECTED = "connected noun phrases"
# Word -> measure of how many neighbours it connects. The paper names these words for some scorers.
CONNECTED_BY = {word: f"noun phrases connected by {word}" for word in ("and", "but", "at", "near", "of")}
# Name of the comparison of a share with one half, for claims about few neighbours.
HALF_OF_NEIGHBOURS = "half of the neighbouring noun phrases"
# Measures of how many of the most frequent words are of a kind.
TOP_WORDS = {"nouns of the top words": NOUNS, "verbs of the top words": frozenset({"VERB"})}
TOP = 10
# Number of words that are counted, the most frequent first. Later words cannot be in the top list of a resample.
COUNTED = 100
# Metrics that the paper does not have, with their headings.
EFFECTS = {
    **{name: name for name in ("CLIPScore", "RefCLIPScore", "PAC-S", "RefPAC-S")},
    "CHAIRi": "CHAIRi, %",
    "CHAIRs": "CHAIRs, %",
    "object recall": "objects that are named, %",
    **{name: name for name in ("distinct-1", "distinct-2", "vocabulary", "mBLEU-4", "self-CIDEr")},
    "novelty": "captions that training does not have, %",
}
# Measures by which roles are compared with each other, not only with the reference role.
BETWEEN_ROLES = (*TOP_WORDS, CONNECTED, *CONNECTED_BY.values())
# Source, kind and rank of the patterns whose shares are measured.
PATTERN_MEASURES = {
    "first pattern": ("mined", "sentence", 1),
    "published prefix": ("published", "prefix", 1),
    "published second prefix": ("published", "prefix", 2),
    "published pattern": ("published", "sentence", 1),
}
OF_CAPTIONERS = {"alignment": ALIGNMENT, "measures": MEASURES, "tags": TAGGED, "spice": SPICE}
OF_CONSTRUCTED = ("constructions", "constructed", "originals")


def summarise(inputs: Row, params: Row) -> tuple[Rows, Rows, list[str]]:
    """Return rows of values, rows of differences, and the tables whose metadata name the device."""
    roles, parents, seed = params["roles"], params["parents"], params["seed"]
    scorers = {name: PrintedScorer(**printed) for name, printed in params["scorers"].items()}
    results = {}
    for number, captioner in enumerate(params["captioners"]):
        tables = {name: read_table(inputs[name][number], kind) for name, kind in OF_CAPTIONERS.items() if inputs[name]}
        tables["nlg"] = read_scores(inputs["nlg"], captioner)
        job = Job(captioner, **params["job"])
        files = {name: inputs[f"metric_{name}"][number] for name in params["metrics"]}
        measured = captioner_results(job, scorers, seed, **tables)
        results[captioner] = {**measured, **metric_results(job, files, seed)}
    of_patterns = pattern_rows(roles, read_by(params["captioners"], inputs["patterns"], PATTERNS), REFERENCE)
    parts = [
        (read_rows(made, CONSTRUCTED), read_rows(scores, ALIGNMENT), read_rows(original, ALIGNMENT))
        for made, scores, original in zip(*(inputs[name] for name in OF_CONSTRUCTED), strict=True)
    ]
    of_constructed = constructed_rows(parts, scorers, REFERENCE, seed)
    rewarded_by = {role: [*params["rewards"][role], *params["rewarding_encoders"][role]] for role in roles}
    differences = difference_rows(roles, results, REFERENCE, parents, rewarded_by)
    between = between_rows(roles, results, REFERENCE, parents)
    return (
        [*value_rows(roles, results), *of_patterns[0], *of_constructed[0]],
        [*differences, *between, *of_patterns[1], *of_constructed[1]],
        [path for name in ("captions", "alignment", *OF_CONSTRUCTED[1:]) for path in inputs[name]],
    )


def captioner_results(
    job: Job,
    scorers: Mapping[str, PrintedScorer],
    seed: int,
    alignment: pa.Table,
    nlg: pa.Table,
    measures: pa.Table,
    tags: pa.Table,
    spice: pa.Table | None = None,
) -> dict[ResultKey, Result]:
    """Return every measure of a captioner by corpus and scorer, from its tables with a row for each caption."""
    found = [*caption_results(job, nlg, seed, NLG_METRICS)]
    found += caption_results(job, fluency(measures), seed, FLUENCY_METRICS)
    if spice is not None:
        found += caption_results(job, spice, seed, SPICE_METRICS)
    found += [*top_word_results(job, tags, seed), *connection_results(job, tags, seed)]
    places: dict[ResultKey, Result] = {(result.corpus, result.metric, None): result for result in found}
    for name, scorer in scorers.items():
        rows = alignment.filter(pa.compute.equal(alignment["scorer"], name))
        metric = Metric("score", mean, scorer.bounds, scorer.factor)
        for result in caption_results(job, rows, seed, {"score": metric}):
            places[result.corpus, "score", scorer.label] = result
    return places


def metric_results(job: Job, files: Mapping[str, str], seed: int) -> dict[ResultKey, Result]:
    """Return metrics that the paper does not have, by corpus and scoring encoder.

    `files` maps the name of a metric's module to its table.
    """
    found = (
        result
        for name, path in files.items()
        for result in import_module(work_module("evaluation.metrics", name)).results(job, path, seed)
    )
    return {(one.corpus, one.metric, one.retriever): one for one in found if one.metric in EFFECTS}


def connection_results(job: Job, captions: pa.Table, seed: int) -> Iterator[Result]:
    """Yield CONNECTED and CONNECTED_BY by corpus, in per cent of all neighbours, from a table of TAGGED.

    A corpus without neighbours has no results.
    """
    counts, spoken = [], set()
    for caption in captions.to_pylist():
        pieces = pieces_of(tagged(caption["words"], caption["tags"]))
        phrases = [place for place, piece in enumerate(pieces) if piece.kind == "NOUN.P"]
        between = [pieces[phrase + 1 : other] for phrase, other in pairwise(phrases)]
        connected = sum(any(piece.kind == "REL" for piece in found) for found in between)
        by_word = [sum(any(word in piece.words for piece in found) for found in between) for word in CONNECTED_BY]
        counts.append((len(between), connected, *by_word))
        if between:
            spoken.add(caption["corpus"])
    names = (CONNECTED, *CONNECTED_BY.values())
    counted = _counted(captions["corpus"], captions["image_id"], np.array(counts).reshape(-1, 1 + len(names)))
    metrics = {
        name: Metric("counts", partial(_share, part=part), PER_CENT, share=True)
        for part, name in enumerate(names, start=1)
    }
    yield from (result for result in caption_results(job, counted, seed, metrics) if result.corpus in spoken)


def top_word_results(job: Job, captions: pa.Table, seed: int) -> Iterator[Result]:
    """Yield TOP_WORDS by corpus from a table of TAGGED. Each resample of the images has its own most frequent words.

    UNK is not counted as a word.
    """
    by_image: dict[str, dict[str, list[Tagged]]] = defaultdict(lambda: defaultdict(list))
    for one in captions.to_pylist():
        known = [(word, tag) for word, tag in tagged(one["words"], one["tags"]) if word != UNKNOWN.lower()]
        by_image[one["corpus"]][one["image_id"]].append(known)
    for corpus, of_images in by_image.items():
        every = [caption for of_image in of_images.values() for caption in of_image]
        counts = Counter(word for caption in every for word, _ in caption)
        # Sorted by name, so that ties are decided by name, as in the table of unigrams.
        words = sorted(sorted(counts, key=lambda word: (-counts[word], word))[:COUNTED])
        place = {word: index for index, word in enumerate(words)}
        matrix = np.zeros((len(of_images), COUNTED))
        for number, of_image in enumerate(of_images.values()):
            for word in (word for caption in of_image for word, _ in caption if word in place):
                matrix[number, place[word]] += 1
        metrics = {}
        for measure, tags in TOP_WORDS.items():
            wanted = mostly_tagged(every, tags)
            is_wanted = np.array([word in wanted for word in words] + [False] * (COUNTED - len(words)))
            metrics[measure] = Metric(
                "counts", partial(wanted_on_top, is_wanted=is_wanted), (0.0, float(TOP)), scale=1.0
            )
        yield from caption_results(job, _counted([corpus] * len(of_images), [*of_images], matrix), seed, metrics)


def wanted_on_top(sums: np.ndarray, captions: np.ndarray, is_wanted: np.ndarray) -> np.ndarray:
    """Return how many wanted words (...) are among the TOP with the largest counts (..., words) above 0."""
    top = np.argsort(-sums, axis=-1, kind="stable")[..., :TOP]
    return (is_wanted[top] & (np.take_along_axis(sums, top, axis=-1) > 0)).sum(axis=-1).astype(np.float64)


def _share(sums: np.ndarray, captions: np.ndarray, part: int) -> np.ndarray:
    return sums[..., part] / np.maximum(sums[..., 0], 1.0)


def _counted(corpora: Any, images: Any, counts: np.ndarray) -> pa.Table:
    """Return a table with counts (n, m) of captions or of images."""
    flat = pa.array(counts.astype(np.float64).ravel())
    columns = {"corpus": corpora, "image_id": images}
    return pa.table({**columns, "counts": pa.FixedSizeListArray.from_arrays(flat, counts.shape[1])})


def between_rows(
    roles: Mapping[str, Sequence[str]], results: Mapping[str, Results], reference: str, parents: Row
) -> Iterator[dict[str, Any]]:
    """Yield rows of ROLE_DIFFERENCES: each role against every other but the reference role, by BETWEEN_ROLES.

    Rows follow for whether less than half of a role's neighbouring noun phrases are connected.
    """
    kept = {
        name: {place: result for place, result in places.items() if place[1] in BETWEEN_ROLES}
        for name, places in results.items()
    }
    others = {role: captioners for role, captioners in roles.items() if role != reference}
    for other in others:
        yield from difference_rows(others, kept, other, parents, {})
    for found in value_rows(others, kept):
        if found["measure"] == CONNECTED:
            value, low, high = (found[name] - 50.0 for name in ("value", "ci_low", "ci_high"))
            place, above = (found["corpus"], "generated", found["subject"], CONNECTED), (value, low, high)
            yield row(*place, above, found["n"], seeds=found["seeds"], against=HALF_OF_NEIGHBOURS)


def pattern_rows(
    roles: Mapping[str, Sequence[str]], patterns: Mapping[str, Sequence[Row]], reference: str
) -> tuple[Rows, Rows]:
    """Return rows of ROLE_VALUES and of ROLE_DIFFERENCES: shares of captions that follow a pattern, in per cent.

    `patterns` maps a captioner to its rows of PATTERNS. `first pattern` is the most frequent sentence pattern mined
    from the captioner's own captions. `published prefix` and `published pattern` are the first that the paper prints
    for the model with the role's name. `published second prefix` is the second, counted over captions that do not start
    with the first. Each share is compared with one half. It is also compared with the share of the reference role's
    captions that follow the same published pattern, or the reference's own mined pattern.
    """
    values, differences = [], []
    for role, captioners in roles.items():
        for corpus in dict.fromkeys(found["corpus"] for found in patterns[captioners[0]]):
            for measure, (source, part, rank) in PATTERN_MEASURES.items():
                wanted = (corpus, source, None if source == "mined" else role, part, rank)
                if (found := _pattern_share(captioners, patterns, wanted)) is None:
                    continue
                share, n = found
                seeds, place = len(captioners), (corpus, "generated", role, measure)
                values.append(row(*place, share, n, seeds=seeds))
                half = (share[0] - 50.0, share[1] - 50.0, share[2] - 50.0)
                differences.append(row(*place, half, n, seeds=seeds, against=HALF))
                before = None if role == reference else _pattern_share(roles[reference], patterns, wanted)
                if before is not None:
                    apart = independent_difference(share, before[0])
                    differences.append(row(*place, apart, min(n, before[1]), seeds=seeds, against=reference))
    return values, differences


def _pattern_share(
    captioners: Sequence[str], patterns: Mapping[str, Sequence[Row]], wanted: tuple[Any, ...]
) -> tuple[tuple[float, float, float], int] | None:
    """Return the share of a role's captions that follow a pattern, in per cent with its interval, and their number.

    Returns None if one of its captioners has no such pattern.
    """
    rows = [found for name in captioners if (found := _pattern(patterns[name], wanted))]
    if len(rows) < len(captioners):
        return None
    column = "whole" if wanted[3] == "sentence" else "start"
    shares, n = np.array([found[column] for found in rows]), min(found["n"] for found in rows)
    # Other seeds see the same images, so they add no independent units.
    of_images = share_interval(float(shares.mean()), 0.0, n, n)
    share, low, high = (100.0 * end for end in seeds_interval(shares, of_images, (0.0, 1.0)))
    return (share, low, high), n


def _pattern(rows: Sequence[Row], wanted: tuple[Any, ...]) -> Row | None:
    """Return the row of the pattern with this key, or None.

    A missing mined pattern has a share of 0, since the captions then have no pattern in common.
    """
    found = next((one for one in rows if tuple(one[name] for name in PATTERNS.key) == wanted), None)
    if found is None and wanted[1] == "mined":
        return {**next(one for one in rows if one["corpus"] == wanted[0]), "whole": 0.0}
    return found
