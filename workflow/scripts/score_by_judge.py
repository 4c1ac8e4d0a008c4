"""Score the captions of a captioner for an evaluation by a judge, a model behind a server."""

from captionlab.config.judges import read_judge
from captionlab.evaluation.inputs import MetricInputs
from captionlab.evaluation.judges.asking import build_judge, judgements
from captionlab.evaluation.judges.scoring import candidates_of, score_rows
from captionlab.evaluation.metrics.judge.metric import SCORES
from captionlab.jobs.scripting import script
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    input, name = snakemake.input, snakemake.wildcards.judge
    # The address, prices and limits are no parameters of the job, so that it does not run again if they change.
    config = read_judge(snakemake.config["judges"][name])
    judge = build_judge(config, next(iter(input.template), None))
    inputs = MetricInputs(dict(input.items()), dict(snakemake.params.items()))
    judged = judgements(judge, candidates_of(inputs, input.images_of_corpora, config), f"judges.{name}")
    captions = [row for corpus in inputs.corpora for row in inputs.captions[corpus]]
    write_table(
        snakemake.output[0], SCORES, score_rows(name, captions, judged), {"device": f"server of {config.model}"}
    )
