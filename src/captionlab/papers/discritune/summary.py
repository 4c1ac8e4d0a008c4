"""Measure effects of finetuning that no single corpus shows (Dessì et al. 2023): values, and mostly differences.

Experiments:

* `gains`: how much more a captioner gains over its parent on one text of an image than on another (section 4.2.2).
* `transfer`: each captioner against each other on corpora that neither was trained on (section 4.2.2).
* `in-domain`: how much finetuning costs on the corpora of the training (section 4.2.2).
* `adjectives`: how many of the adjectives associated with a type of captions are colours (section 5).
* `fluency`: whether captions become less fluent or repeat themselves (appendix B, which has no measure for it).
* Groups of variants: how much each part of the finetuning contributes, over seeds.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from captionlab.evaluation.metrics.nlg.metric import METRICS as NLG_METRICS
from captionlab.evaluation.metrics.nlg.metric import read_scores
from captionlab.evaluation.metrics.retrieval.metric import is_named, retrieval_results
from captionlab.evaluation.metrics.spice.metric import METRICS as SPICE_METRICS
from captionlab.evaluation.metrics.spice.metric import SPICE
from captionlab.evaluation.rows import row
from captionlab.evaluation.summary import Job, Metric, Names, Result, caption_results, mean
from captionlab.language.schemas import MEASURES
from captionlab.language.statistics import repeats_itself
from captionlab.papers.discritune.adjectives import colour_rows
from captionlab.reporting.claims.reading import Rows, read_rows
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.roles import FLUENCY_METRICS, PERPLEXITY, ResultKey, difference_rows, fluency, value_rows
from captionlab.reporting.runs.values import NEARNESS, NON_INFERIORITY, Row
from captionlab.statistics.intervals import (
    ANY,
    PER_CENT,
    SIMILAR,
    bootstrap_interval,
    difference_bounds,
    seeds_interval,
    within,
)
from captionlab.storage import paths
from captionlab.storage.schemas import RETRIEVAL as RETRIEVAL_RANKS
from captionlab.storage.schemas import TAGGED, TOKENS
from captionlab.storage.tables import read_table

# Two texts of the same images, by the paper's labels: the claim is that more is gained on the first.
DESCRIPTIONS, CAPTIONS = "Concadia-Descriptions", "Concadia-Captions"
REPETITIONS = "repetitions"
# The metrics of the paper's Tables 2, 3 and 5.
TEXT_METRICS = ("BLEU@4", "METEOR", "CIDEr", "SPICE")
# How many more captions may repeat themselves, in per cent of all captions. A reader of a hundred captions notices one
# more at most; the paper noticed none. A share of the parent's value would be 0 if the parent does not repeat itself.
ONE_OF_A_HUNDRED = 1.0
# Prefix of `against` for gains. The label of the other text follows.
GAIN_ON = "the gain on "
# Retrieval among all images of a corpus. The paper retrieves among a set of candidates, and a place holds one number.
RETRIEVAL = "P@1"
NOT_HIGHER = {measure: f"{NON_INFERIORITY}{measure}" for measure in (PERPLEXITY, REPETITIONS)}


@dataclass(frozen=True)
class Scores:
    """The scores of a captioner's captions in an evaluation: its job, and tables with a row for each caption."""

    job: Job
    nlg: pa.Table
    spice: pa.Table | None = None
    retrieval: pa.Table | None = None


Results = dict[ResultKey, Result]


@dataclass(frozen=True)
class Cast:
    """The captioners that stand for the paper's.

    `trainings` maps a label to its trainings, `parents` maps a label to the parent's label, `origins` maps a training
    to its parent.
    """

    trainings: Names
    parents: Mapping[str, str]
    origins: Mapping[str, str | None]

    def evaluated(self, results: Mapping[str, Results]) -> dict[str, Sequence[str]]:
        """Return the labels whose trainings all have results, with the trainings."""
        return {label: names for label, names in self.trainings.items() if {*names} <= results.keys()}

    def pairs(self, results: Mapping[str, Results]) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
        """Yield a label, its parent's label, and pairs (training, its parent), if both captioners were evaluated."""
        there = self.evaluated(results)
        for label, parent in self.parents.items():
            if {label, parent} <= there.keys():
                yield label, parent, [(one, str(self.origins[one])) for one in there[label]]


def cast_of(paper: Reproduction, trainings: Names) -> Cast:
    """Return the captioners of a paper's block. If two labels name the same captioner, the first counts.

    `trainings` maps a captioner to its several trainings.
    """
    labels = {name: label for label, name in sorted(paper.captioners.items(), reverse=True)}
    parents = {label: parent for label in labels.values() if (parent := paper.parent(label))}
    origins = {name: of["parent"] for name, of in paper.lineage.items()}
    return Cast({label: trainings.get(name, [name]) for name, label in sorted(labels.items())}, parents, origins)


def summarise(inputs: Row, params: Row) -> tuple[Rows, Rows, list[str]]:
    """Return rows of values, rows of differences, and the tables whose metadata name the device."""
    values, differences, results = Rows(), _compared(inputs, params), dict[str, dict[str, Results]]()
    types = {paths.captioner_of(path)[0]: read_rows(path, TAGGED) for path in inputs["tags"]}
    labels = {name: label for label, name in sorted(params["config"]["captioners"].items(), reverse=True)}
    differences += colour_rows({labels.get(name, name): rows for name, rows in types.items()}, params["seed"])
    for one in _scores(inputs, params, "variant_"):
        results.setdefault(one.job.evaluation, {})[one.job.captioner] = evaluated_results(one, params["seed"])
    for name, variants in params["variants"].items():
        found = variant_rows(name, variants, results[variants["evaluation"]])
        values += found[0]
        differences += found[1]
    return values, differences, [*inputs["captions"], *inputs["variant_captions"], *inputs["variant_retrieval"]]


def _compared(inputs: Row, params: Row) -> Rows:
    paper, seed = Reproduction(params["config"], params["lineage"]), params["seed"]
    cast = cast_of(paper, params["trainings"])
    scores, spoken = defaultdict[str, list[Scores]](list), defaultdict[str, Results](dict)
    for one in _scores(inputs, params):
        scores[one.job.captioner].append(one)
    found: Rows = []
    if {DESCRIPTIONS, CAPTIONS} <= paper.corpora.keys():
        two = (paper.corpora[DESCRIPTIONS], paper.corpora[CAPTIONS])
        shared = {name: [same_images(one, *two) for one in of_name] for name, of_name in scores.items()}
        results = {name: text_results(of_name, two, seed) for name, of_name in shared.items()}
        found += gain_rows(results, cast, two, CAPTIONS)
    corpora = sorted(set(paper.corpora.values()))
    results = {name: text_results(of_name, corpora, seed) for name, of_name in scores.items()}
    foreign = {
        label: [name for corpus, name in paper.corpora.items() if paper.in_domain(label, corpus) is False]
        for label in cast.trainings
    }
    found += transfer_rows(results, cast, foreign)
    own = {
        label: [name for corpus, name in paper.corpora.items() if paper.in_domain(label, corpus)]
        for label in cast.trainings
    }
    found += in_domain_rows(results, cast, own)
    for measures, tokens in zip(inputs["measures"], inputs["tokens"], strict=True):
        job, read = _job(measures, params), (read_table(measures, MEASURES), read_table(tokens, TOKENS))
        spoken[job.captioner].update(fluency_results(job, *read, seed))
    return [*found, *fluency_rows(spoken, cast)]


def _scores(inputs: Row, params: Row, start: str = "") -> Iterator[Scores]:
    """Yield the scores of each captioner and evaluation, from inputs whose names begin with `start`."""
    others: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    for name, kind in (("spice", SPICE), ("retrieval", RETRIEVAL_RANKS)):
        for path in inputs.get(f"{start}{name}", ()):
            others[paths.captioner_of(path)][name] = path, kind
    nlg = {Path(path).stem: path for path in inputs[f"{start}nlg"]}
    for path in inputs[f"{start}captions"]:
        job = _job(path, params)
        if job.evaluation in nlg:
            more = {name: read_table(*given) for name, given in others[job.captioner, job.evaluation].items()}
            yield Scores(job, read_scores(nlg[job.evaluation], job.captioner), **more)


def _job(path: str, params: Row) -> Job:
    """Return the captioner and evaluation of a table."""
    captioner, evaluation = paths.captioner_of(path)
    return Job(captioner, evaluation, **params["evaluations"][evaluation])


def text_results(scores: Sequence[Scores], corpora: Sequence[str], seed: int) -> Results:
    """Return TEXT_METRICS of a captioner on each of the corpora, from its evaluations.

    Raises ValueError if a metric was measured on a corpus in several evaluations.
    """
    metrics = {name: metric for name, metric in NLG_METRICS.items() if name in TEXT_METRICS}
    found: Results = {}
    for one in scores:
        for table, of_table in ((one.nlg, metrics), (one.spice, SPICE_METRICS)):
            if table is None:
                continue
            kept = table.filter(pc.is_in(table["corpus"], pa.array(corpora, pa.string())))
            for result in caption_results(one.job, kept, seed, of_table):
                place = result.corpus, result.metric, None
                if place in found:
                    evaluations = ", ".join(sorted((found[place].job.evaluation, one.job.evaluation)))
                    raise ValueError(
                        f"{result.metric} of {one.job.captioner} on {result.corpus} was measured in several "
                        f"evaluations ({evaluations}); name the one that the tables show under "
                        "papers.discritune.evaluations"
                    )
                found[place] = result
    return found


def same_images(scores: Scores, first: str, second: str) -> Scores:
    """Return the scores on two corpora, restricted to images that have a text in both."""

    def shared(table: pa.Table) -> pa.Table:
        one, other = (table.filter(pc.equal(table["corpus"], corpus)) for corpus in (first, second))
        pairs = ((one, other), (other, one))
        return pa.concat_tables(own.filter(pc.is_in(own["image_id"], of["image_id"])) for own, of in pairs)

    return replace(scores, nlg=shared(scores.nlg), spice=None if scores.spice is None else shared(scores.spice))


def gain_rows(
    results: Mapping[str, Results], cast: Cast, corpora: tuple[str, str], against: str
) -> Iterator[dict[str, Any]]:
    """Yield how much more each captioner gains over its parent on the first corpus than on the second.

    Gains are means over trainings. `results` are by training, on the same images of both `corpora`. A pair has no row
    if a captioner was not evaluated. Raises ValueError if captioner and parent were evaluated on different images.
    """
    first, second = corpora
    for label, parent, pairs in cast.pairs(results):
        for metric in TEXT_METRICS:
            places = [(corpus, metric, None) for corpus in (first, second)]
            if not all(place in results[name] for place in places for pair in pairs for name in pair):
                continue
            found = [[[results[name][place] for name in pair] for place in places] for pair in pairs]
            every = [result for of_pair in found for of_place in of_pair for result in of_place]
            images = {result.images for result in every}
            if len(images) > 1:
                raise ValueError(
                    f"{label} and its parent {parent} were evaluated on different images of {first} and {second} "
                    f"({metric}); their gains cannot be compared"
                )
            more = np.array([(a.value - b.value) - (c.value - d.value) for (a, b), (c, d) in found])
            resampled = [(a.resampled - b.resampled) - (c.resampled - d.resampled) for (a, b), (c, d) in found]
            # Differences below a thousandth of a point come from BLEU's smoothing constants alone.
            drawn, mean_of = np.mean(resampled, axis=0).round(3), float(more.mean())
            bounds = difference_bounds(difference_bounds(every[0].bounds))
            number = seeds_interval(more, bootstrap_interval(mean_of, drawn, bounds), bounds)
            place = first, "gains", label, metric
            yield row(*place, number, len(*images), seeds=len(pairs), against=f"{GAIN_ON}{against}")


def transfer_rows(
    results: Mapping[str, Results], cast: Cast, foreign: Mapping[str, Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """Yield each captioner against each other on corpora that are foreign to both and on which both were scored.

    `results` are by training. `foreign` maps a label to the corpora that neither the captioner nor its ancestors were
    trained on.
    """
    there = cast.evaluated(results)
    for label, other in permutations(there, 2):
        roles = {one: there[one] for one in (other, label)}
        of_two = {
            name: {place: result for place, result in results[name].items() if place[0] in foreign[label]}
            for names in roles.values()
            for name in names
        }
        for found in difference_rows(roles, of_two, other, {}, {}):
            if found["corpus"] in foreign[other]:
                place = found["corpus"], found["measure"], None
                of_other = [results[name][place] for name in there[other]]
                yield {**found, **_with_seeds_of(of_other, found), "experiment": "transfer"}


def in_domain_rows(
    results: Mapping[str, Results], cast: Cast, own: Mapping[str, Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """Yield each captioner against its parent on corpora of its training, and whether it is not worse.

    `results` are by training. `own` maps a label to the corpora that the captioner or its ancestors were trained on.
    """
    for label, parent, pairs in cast.pairs(results):
        roles = {one: cast.trainings[one] for one in (parent, label)}
        kept = {
            name: {place: result for place, result in results[name].items() if place[0] in own[label]}
            for names in roles.values()
            for name in names
        }
        for found in difference_rows(roles, kept, parent, cast.origins, {}):
            before = [results[origin][found["corpus"], found["measure"], None].value for _, origin in pairs]
            made = {**found, "experiment": "in-domain"}
            yield from (made, _not_lower(made, float(np.mean(before))))


def _not_lower(found: Row, of: float) -> dict[str, Any]:
    """Return the row of the non-inferiority of a difference, for metrics whose higher values are better.

    It is above 0 if the value is lower than the subtracted value `of` by less than SIMILAR of it, or not lower.
    """
    margin = SIMILAR * abs(of)
    ends = {name: margin + found[name] for name in ("difference", "ci_low", "ci_high")}
    return {**found, **ends, "margin": margin, "measure": f"{NON_INFERIORITY}{found['measure']}"}


def _nearness(found: Row, of: float) -> dict[str, Any]:
    """Return the row of the nearness of a difference: whether it is within SIMILAR of the subtracted value `of`."""
    margin = SIMILAR * abs(of)
    near, low, high = within(found["difference"], found["ci_low"], found["ci_high"], margin)
    nearness = {"difference": near, "ci_low": low, "ci_high": high, "margin": margin}
    return {**found, **nearness, "measure": f"{NEARNESS}{found['measure']}"}


def _with_seeds_of(others: Sequence[Result], found: Row) -> dict[str, float]:
    """Return the ends of a difference from the mean of the trainings `others`, widened by the variance between them.

    The seeds of `others` are an independent source of variance. Returns nothing if there is only one training.
    """
    if len(others) == 1:
        return {}
    values, bounds = np.array([one.value for one in others]), difference_bounds(others[0].bounds)
    middle, _, high = seeds_interval(values, (float(values.mean()), float(values.mean())), ANY)
    low, up = found["difference"] - found["ci_low"], found["ci_high"] - found["difference"]
    distances = [float(np.hypot(distance, high - middle)) for distance in (low, up)]
    ends = found["difference"] - distances[0], found["difference"] + distances[1]
    return {"ci_low": max(ends[0], bounds[0]), "ci_high": min(ends[1], bounds[1])}


def fluency_results(job: Job, measures: pa.Table, tokens: pa.Table, seed: int) -> Results:
    """Return perplexity and share of repetitions of a captioner by corpus, from its tables of MEASURES and TOKENS."""
    repeats = [float(repeats_itself(text.split())) for text in tokens["tokens"].to_pylist()]
    repeated = pa.table({"corpus": tokens["corpus"], "image_id": tokens["image_id"], "repeats": repeats})
    found = [*caption_results(job, fluency(measures), seed, {PERPLEXITY: FLUENCY_METRICS[PERPLEXITY]})]
    found += caption_results(job, repeated, seed, {REPETITIONS: Metric("repeats", mean, PER_CENT, share=True)})
    return {(result.corpus, result.metric, None): result for result in found}


def fluency_rows(results: Mapping[str, Results], cast: Cast) -> Iterator[dict[str, Any]]:
    """Yield each captioner against its parent, and whether it is not worse (NOT_HIGHER).

    A non-inferiority is the margin minus the difference. It is above 0 if the captions are worse by less than the
    margin, which is SIMILAR of the parent's perplexity, or ONE_OF_A_HUNDRED of captions that repeat themselves. A pair
    has no row if a captioner was not evaluated, and no row of perplexity if all captions of a captioner, or of one of
    its resamples, are empty.
    """
    for label, parent, pairs in cast.pairs(results):
        roles = {one: cast.trainings[one] for one in (parent, label)}
        for found in difference_rows(roles, results, parent, cast.origins, {}):
            yield {**found, "experiment": "fluency"}
            corpus, measure = found["corpus"], found["measure"]
            of_parents = [results[origin][corpus, measure, None].value for _, origin in pairs]
            usual = float(np.prod(of_parents)) ** (1 / len(of_parents))  # perplexities have geometric means
            margin = SIMILAR * usual if measure == PERPLEXITY else ONE_OF_A_HUNDRED
            value, low, high = (margin - found[end] for end in ("difference", "ci_high", "ci_low"))
            place, ends = (corpus, "fluency", label, NOT_HIGHER[measure]), (value, low, high)
            yield row(*place, ends, found["n"], seeds=len(pairs), against=parent, margin=margin)


def evaluated_results(scores: Scores, seed: int) -> Results:
    """Return every measure of a captioner by corpus and retriever."""
    found = [*caption_results(scores.job, scores.nlg, seed, NLG_METRICS)]
    if scores.spice is not None:
        found += caption_results(scores.job, scores.spice, seed, SPICE_METRICS)
    if scores.retrieval is not None:
        found += (one for one in retrieval_results(scores.job, scores.retrieval, seed) if is_named(one.candidates))
    return {(result.corpus, result.metric, result.retriever): result for result in found}


def variant_rows(name: str, variants: Row, results: Mapping[str, Results]) -> tuple[Rows, Rows]:
    """Return rows of ROLE_VALUES and of ROLE_DIFFERENCES of a group of variants, with its name as the experiment.

    `variants` has `captioners` (label -> captioners, one for each seed), `corpora` (names), `reference` (the label that
    others are compared with) and `rewards` (label -> retrievers that gave the reward). Captioners are compared seed by
    seed, in their order. A label with a single captioner is compared with the reference of every seed. `nearness of
    P@1` is above 0 if a captioner finds about as many images as the reference. Raises ValueError if two captioners were
    evaluated on different images.
    """
    roles, reference = variants["captioners"], variants["reference"]
    seeds: Sequence[str] = roles[reference]
    every, paired = dict(results), dict(roles)
    partners: dict[str, str | None] = {}
    for label, captioners in roles.items():
        if label == reference or len(seeds) == 1:
            continue
        if len(captioners) == 1:
            paired[label] = [f"{captioners[0]} against {other}" for other in seeds]
            every |= {one: results[captioners[0]] for one in paired[label]}
        partners |= zip(paired[label], seeds, strict=True)
    values = [*value_rows(roles, results)]
    differences = [*difference_rows(paired, every, reference, partners, variants["rewards"])]
    found = {(row["subject"], row["corpus"], row["measure"], row["scorer"]): row["value"] for row in values}
    for one in [made for made in differences if made["measure"] == RETRIEVAL]:
        differences.append(_nearness(one, found[reference, one["corpus"], RETRIEVAL, one["scorer"]]))
    values, differences = (
        [{**row, "experiment": name} for row in rows if row["corpus"] in variants["corpora"]]
        for rows in (values, differences)
    )
    return values, differences
