"""Measure what the paper says of several captioners or corpora at once, gains, transfer and fluency, and variants."""

from collections.abc import Mapping
from typing import Any

from captionlab import paths
from captionlab.evaluation.metrics.nlg import NLG
from captionlab.evaluation.metrics.spice import SPICE
from captionlab.evaluation.summary import Job
from captionlab.language.schemas import MEASURES
from captionlab.papers.discritune.finetuning import (
    Results,
    Scores,
    fluency_results,
    fluency_rows,
    gain_rows,
    same_images,
    text_results,
    transfer_rows,
)
from captionlab.papers.discritune.variants import evaluated_results, variant_rows
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
    measured = [*inputs["captions"], *inputs["ablated_captions"], *inputs["ablated_retrieval"]]
    return values, [*compared, *differences], measured


def _compared(inputs: Given, params: Given) -> Rows:
    paper = Reproduction(params["config"], params["lineage"])
    labels = {name: label for label, name in sorted(paper.captioners.items(), reverse=True)}
    parents = {label: parent for label in labels.values() if (parent := paper.parent(label))}
    scores = _scores(inputs, params, labels)
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


def _scores(inputs: Given, params: Given, labels: dict[str, str]) -> dict[str, list[Scores]]:
    """By label of the captioner its scores in every evaluation."""
    spice = {paths.captioner_of(path): path for path in inputs["spice"]}
    scores: dict[str, list[Scores]] = {}
    for path in inputs["nlg"]:
        job, place = _job(path, params), paths.captioner_of(path)
        of_spice = read_table(spice[place], SPICE) if place in spice else None
        scores.setdefault(labels[job.captioner], []).append(Scores(job, read_table(path, NLG), of_spice))
    return scores


def _variants(inputs: Given, params: Given) -> tuple[Rows, Rows]:
    retrieval, spice = (
        {paths.captioner_of(path): path for path in inputs[f"ablated_{table}"]} for table in ("retrieval", "spice")
    )
    results: dict[str, dict[str, Any]] = {}
    for path in inputs["ablated_nlg"]:
        job, place = _job(path, params), paths.captioner_of(path)
        results.setdefault(job.evaluation, {})[job.captioner] = evaluated_results(
            job,
            params["seed"],
            read_table(path, NLG),
            retrieval=read_table(retrieval[place], RETRIEVAL) if place in retrieval else None,
            spice=read_table(spice[place], SPICE) if place in spice else None,
        )
    found = [
        variant_rows(name, variants, results[variants["evaluation"]]) for name, variants in params["variants"].items()
    ]
    return [row for values, _ in found for row in values], [row for _, differences in found for row in differences]


def _job(path: str, params: Given) -> Job:
    """The captioner and evaluation that a table is of."""
    captioner, evaluation = paths.captioner_of(path)
    return Job(captioner, evaluation, **params["evaluations"][evaluation])
