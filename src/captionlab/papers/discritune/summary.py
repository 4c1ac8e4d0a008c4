"""Measure what the paper says of several captioners or corpora at once, gains, transfer and fluency, and variants."""

from collections.abc import Iterator, Mapping
from typing import Any

from captionlab import paths
from captionlab.evaluation.metrics.nlg import NLG
from captionlab.evaluation.metrics.spice import SPICE
from captionlab.evaluation.summary import Job
from captionlab.language.schemas import MEASURES
from captionlab.papers.discritune.finetuning import (
    Results,
    Scores,
    evaluated_results,
    fluency_results,
    fluency_rows,
    gain_rows,
    same_images,
    text_results,
    transfer_rows,
    variant_rows,
)
from captionlab.reporting.reproduction import Reproduction
from captionlab.schemas import RETRIEVAL, TOKENS
from captionlab.tables import read_table

# Two texts of the same images, by the paper's labels: more is gained on the first.
DESCRIPTIONS, CAPTIONS = "Concadia-Descriptions", "Concadia-Captions"
Rows = list[dict[str, Any]]
Given = Mapping[str, Any]


def summarise(inputs: Given, params: Given) -> tuple[Rows, Rows, list[str]]:
    """Rows of values and of differences, and the tables that know the device of what they were measured on."""
    values, differences = _variants(inputs, params)
    compared = _compared(inputs, params)
    measured = [*inputs["captions"], *inputs["variant_captions"], *inputs["variant_retrieval"]]
    return values, [*compared, *differences], measured


def _compared(inputs: Given, params: Given) -> Rows:
    paper = Reproduction(params["config"], params["lineage"])
    labels = {name: label for label, name in sorted(paper.captioners.items(), reverse=True)}
    parents = {label: parent for label in labels.values() if (parent := paper.parent(label))}
    scores: dict[str, list[Scores]] = {}
    for one in _scores(inputs, params):
        scores.setdefault(labels[one.job.captioner], []).append(one)
    found: Rows = []
    if {DESCRIPTIONS, CAPTIONS} <= paper.corpora.keys():
        two = (paper.corpora[DESCRIPTIONS], paper.corpora[CAPTIONS])
        shared = {
            label: text_results([same_images(one, *two) for one in of_label], two, params["seed"])
            for label, of_label in scores.items()
        }
        found += gain_rows(shared, parents, two, CAPTIONS)
    corpora = sorted(set(paper.corpora.values()))
    results = {label: text_results(of_label, corpora, params["seed"]) for label, of_label in scores.items()}
    foreign = {
        label: [paper.corpora[corpus] for corpus in paper.corpora if paper.in_domain(label, corpus) is False]
        for label in scores
    }
    found += transfer_rows(results, foreign)
    spoken: dict[str, Results] = {}
    for measures, tokens in zip(inputs["measures"], inputs["tokens"], strict=True):
        job = _job(measures, params)
        read = read_table(measures, MEASURES), read_table(tokens, TOKENS)
        spoken.setdefault(labels[job.captioner], {}).update(fluency_results(job, *read, params["seed"]))
    return [*found, *fluency_rows(spoken, parents)]


def _scores(inputs: Given, params: Given, start: str = "") -> Iterator[Scores]:
    """Of each captioner and evaluation its tables; their names begin so."""
    spice, retrieval = (
        {paths.captioner_of(path): path for path in inputs.get(f"{start}{table}", ())}
        for table in ("spice", "retrieval")
    )
    for path in inputs[f"{start}nlg"]:
        place = paths.captioner_of(path)
        of_spice = read_table(spice[place], SPICE) if place in spice else None
        ranks = read_table(retrieval[place], RETRIEVAL) if place in retrieval else None
        yield Scores(_job(path, params), read_table(path, NLG), of_spice, ranks)


def _variants(inputs: Given, params: Given) -> tuple[Rows, Rows]:
    results: dict[str, dict[str, Any]] = {}
    for one in _scores(inputs, params, "variant_"):
        results.setdefault(one.job.evaluation, {})[one.job.captioner] = evaluated_results(one, params["seed"])
    found = [
        variant_rows(name, variants, results[variants["evaluation"]]) for name, variants in params["variants"].items()
    ]
    return [row for values, _ in found for row in values], [row for _, differences in found for row in differences]


def _job(path: str, params: Given) -> Job:
    """The captioner and evaluation that a table is of."""
    captioner, evaluation = paths.captioner_of(path)
    return Job(captioner, evaluation, **params["evaluations"][evaluation])
