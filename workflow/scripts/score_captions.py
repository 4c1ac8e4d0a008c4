"""Score the captions of a captioner for an evaluation by a metric that has no rule of its own."""

from captionlab.evaluation.inputs import MetricInputs
from captionlab.jobs.provenance import device_name
from captionlab.jobs.scripting import script
from captionlab.plugins import module
from captionlab.questions.answering import with_servers
from captionlab.storage.tables import TableWriter


@script
def main(snakemake):
    metric = module(snakemake.params.module)
    params = dict(snakemake.params.items())
    if sets := params["settings"].get("questions"):
        params["settings"] = {**params["settings"], "questions": with_servers(sets, snakemake.config)}
    inputs = MetricInputs(dict(snakemake.input.items()), params)
    with TableWriter(snakemake.output[0], metric.SCORES, {"device": device_name()}) as writer:
        for columns in metric.score(inputs):
            writer.write(columns)
