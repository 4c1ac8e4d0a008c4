"""Finetune a captioner, or adapters for it, by TRL, in this process or in the processes that accelerate launches."""

import os
import sys
from pathlib import Path

from captionlab.jobs.provenance import input_digests
from captionlab.jobs.scripting import folder_of, launching_script
from captionlab.questions.answering import with_servers
from captionlab.training.loop.checkpoints import Training, fingerprint
from captionlab.training.trl.launching import launch
from captionlab.training.trl.training import Job, run


@launching_script
def main(snakemake):
    input, params, output = snakemake.input, snakemake.params, snakemake.output
    training = Training(
        rule=snakemake.rule,
        params={"config": params.config, "seed": params.seed},
        images=input.images,
        weights=output.weights,
        log=output.training,
        checkpoints=snakemake.config.get("checkpoints", {}),
        tracking=snakemake.config.get("tracking", "none"),
    )
    job = Job(
        parent=str(folder_of(input.parent_config)),
        training=training,
        fingerprint=fingerprint(params, input_digests().values()),
        data={
            "images": input.images,
            "features": list(input.features),
            "captions": next(iter(input.captions), ""),
            "reward_models": with_servers(params.reward_models, snakemake.config),
        },
        training_captions=output.training_captions,
        snapshots=output.snapshots,
    )
    if settings := list(input.accelerate):
        file = Path(training.state) / "job.json"
        job.write(file)
        launch(file, settings[0], os.environ, sys.stdout)
    else:
        run(job)
