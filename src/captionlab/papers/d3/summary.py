"""Measure the retrieval of roles, among candidates at random and in bags, and their similarity to references."""

from collections import defaultdict

import pyarrow.compute as pc

from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.metrics.retrieval import metric as retrieval
from captionlab.evaluation.summary import Job, caption_results
from captionlab.papers.d3.values import FOUND, SIMILAR
from captionlab.reporting.claims.reading import Path, Rows
from captionlab.reporting.runs.roles import Results, difference_rows, value_rows
from captionlab.reporting.runs.values import Row
from captionlab.storage.schemas import RETRIEVAL
from captionlab.storage.tables import read_table

CIDER = nlg.METRICS[SIMILAR]


def summarise(inputs: Row, params: Row) -> tuple[Rows, Rows, list[str]]:
    """Return rows of values, rows of differences, and the tables whose metadata name the device."""
    roles: dict[str, list[str]] = {}
    results = defaultdict[str, Results](dict)
    for number, cell in enumerate(params["cells"]):
        job, files = Job(**cell["job"]), {name: inputs[name][number] for name in ("nlg", "retrieval")}
        if job.captioner not in roles.setdefault(cell["role"], []):
            roles[cell["role"]].append(job.captioner)
        results[job.captioner] = {**results[job.captioner], **cell_results(job, cell["corpus"], files, params["seed"])}
    differences = Rows()
    for other in roles:
        differences += difference_rows(roles, results, other, {}, {})
    return [*value_rows(roles, results)], differences, inputs["retrieval"]


def cell_results(job: Job, corpus: str, files: dict[str, Path], seed: int) -> Results:
    """Return CIDEr and retrieval of a captioner on a corpus, by corpus, measure and retriever.

    Retrieval in bags is a measure for each size of the bags. Retrieval among all images is left out.
    """
    found: Results = {}
    scores = nlg.read_scores(files["nlg"], job.captioner)
    for result in caption_results(job, scores.filter(pc.equal(scores["corpus"], corpus)), seed, {SIMILAR: CIDER}):
        found = {**found, (corpus, result.metric, None): result}
    ranks = read_table(files["retrieval"], RETRIEVAL)
    for result in retrieval.retrieval_results(job, ranks.filter(pc.equal(ranks["corpus"], corpus)), seed):
        if result.metric == FOUND and result.candidates != retrieval.FULL:
            measure = FOUND if retrieval.is_named(result.candidates) else str(result.candidates)
            found = {**found, (corpus, measure, result.retriever): result}
    return found
