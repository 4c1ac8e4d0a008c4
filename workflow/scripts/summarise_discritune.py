"""Measure what the discritune paper says of several captioners or corpora at once: gains, transfer, fluency."""

from typing import Any

from captionlab import paths
from captionlab.evaluation.devices import device_note
from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.evaluation.spice import SPICE
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
from captionlab.reporting.reproduction import Reproduction
from captionlab.schemas import NLG, TOKENS
from captionlab.scripting import run
from captionlab.tables import read_table, write_table

# Two texts of the same images, by the paper's labels: more is gained on the first.
DESCRIPTIONS, CAPTIONS = "Concadia-Descriptions", "Concadia-Captions"


def main(snakemake: Any) -> None:
    params, inputs = snakemake.params, snakemake.input
    paper = Reproduction(params.config, params.lineage)
    labels = {name: label for label, name in sorted(paper.captioners.items(), reverse=True)}
    parents = {label: parent for label in labels.values() if (parent := paper.parent(label))}
    scores = read_scores(snakemake, labels)
    found = []
    if {DESCRIPTIONS, CAPTIONS} <= paper.corpora.keys():
        two = (paper.corpora[DESCRIPTIONS], paper.corpora[CAPTIONS])
        shared = {
            label: text_results([same_images(one, *two) for one in of_label], two, params.seed)
            for label, of_label in scores.items()
        }
        found += gain_rows(shared, parents, two, CAPTIONS)
    corpora = sorted(set(paper.corpora.values()))
    results = {label: text_results(of_label, corpora, params.seed) for label, of_label in scores.items()}
    foreign = {
        label: [paper.corpora[corpus] for corpus in paper.corpora if paper.in_domain(label, corpus) is False]
        for label in scores
    }
    found += transfer_rows(results, foreign)
    spoken: dict[str, Results] = {}
    for measures, tokens in zip(inputs.measures, inputs.tokens, strict=True):
        captioner, evaluation = paths.captioner_of(measures)
        job = Job(captioner, evaluation, **params.evaluations[evaluation])
        read = read_table(measures, MEASURES), read_table(tokens, TOKENS)
        spoken.setdefault(labels[captioner], {}).update(fluency_results(job, *read, params.seed))
    found += fluency_rows(spoken, parents)
    columns = {name: [row[name] for row in found] for name in ROLE_DIFFERENCES.columns}
    write_table(snakemake.output[0], ROLE_DIFFERENCES, columns, device_note(inputs.captions))


def read_scores(snakemake: Any, labels: dict[str, str]) -> dict[str, list[Scores]]:
    """By label of the captioner its scores in every evaluation."""
    spice = {paths.captioner_of(path): path for path in snakemake.input.spice}
    scores: dict[str, list[Scores]] = {}
    for path in snakemake.input.nlg:
        captioner, evaluation = place = paths.captioner_of(path)
        job = Job(captioner, evaluation, **snakemake.params.evaluations[evaluation])
        of_spice = read_table(spice[place], SPICE) if place in spice else None
        scores.setdefault(labels[captioner], []).append(Scores(job, read_table(path, NLG), of_spice))
    return scores


if __name__ == "__main__":
    run(main, globals())
