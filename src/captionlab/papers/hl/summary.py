"""Measure the similarity of models' captions to human captions: values, and differences between all pairs of models."""

from collections import defaultdict

import pyarrow.compute as pc

from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.metrics.sacrebleu import metric as sacrebleu
from captionlab.evaluation.summary import Job, Result, caption_results
from captionlab.papers.hl.values import MEASURES
from captionlab.reporting.claims.reading import Path, Rows
from captionlab.reporting.runs.roles import Results, difference_rows, value_rows
from captionlab.reporting.runs.values import Row
from captionlab.storage.tables import read_table

METRICS = {
    "nlg": {name: metric for name, metric in nlg.METRICS.items() if name in MEASURES},
    "sacrebleu": sacrebleu.METRICS,
}


def summarise(inputs: Row, params: Row) -> tuple[Rows, Rows, list[str]]:
    """Return rows of values, rows of differences, and the tables whose metadata name the device."""
    models = defaultdict[str, dict[str, list[str]]](lambda: defaultdict(list))
    results = defaultdict[str, dict[str, Results]](dict)
    for number, cell in enumerate(params["cells"]):
        job = Job(**cell["job"])
        models[cell["axis"]][cell["model"]].append(job.captioner)
        files = {table: inputs[table][number] for table in METRICS}
        results[cell["axis"]][job.captioner] = cell_results(job, cell["corpus"], files, params["seed"])
    values, differences = Rows(), Rows()
    for axis, of_axis in models.items():
        values += value_rows(of_axis, results[axis])
        for other in of_axis:
            differences += difference_rows(of_axis, results[axis], other, {}, {})
    return values, differences, inputs["captions"]


def cell_results(job: Job, corpus: str, files: dict[str, Path], seed: int) -> Results:
    """Return the paper's metrics of a captioner on a corpus, from its tables of scores by name."""
    found: list[Result] = []
    tables = {
        "nlg": nlg.read_scores(files["nlg"], job.captioner),
        "sacrebleu": read_table(files["sacrebleu"], sacrebleu.SCORES),
    }
    for table, scores in tables.items():
        found += caption_results(job, scores.filter(pc.equal(scores["corpus"], corpus)), seed, METRICS[table])
    return {(result.corpus, result.metric, None): result for result in found}
