"""Score the captions of a captioner for an evaluation by an external command, which gets all captions at once."""

import os
import shlex
import tempfile
from pathlib import Path

from captionlab.evaluation.environments import within
from captionlab.evaluation.exchange import caption_id, image_files, read_scores, write_captions
from captionlab.evaluation.inputs import MetricInputs
from captionlab.evaluation.metrics.command.metric import SCORES
from captionlab.evaluation.processes import run
from captionlab.jobs.scripting import script
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    metric, settings = snakemake.wildcards.metric, snakemake.params.settings
    who = f"metrics.{metric} for {snakemake.wildcards.captioner} in {snakemake.wildcards.evaluation}"
    inputs = MetricInputs(dict(snakemake.input.items()), dict(snakemake.params.items()))
    files = dict(zip(snakemake.params.files, map(os.path.abspath, snakemake.input.files), strict=True))
    before, variables = within(next(iter(snakemake.input.environment), None), who)
    command = [*before, *(files.get(word, word) for word in shlex.split(settings["command"]))]
    rows = [row for corpus in inputs.corpora for row in inputs.captions[corpus]]
    with tempfile.TemporaryDirectory(prefix=f"{metric}-") as temporary:
        folder = Path(temporary)
        captions, scores = folder / "captions.jsonl", folder / "scores.jsonl"
        for corpus, images in zip(inputs.corpora, snakemake.input.images_of_corpora, strict=True):
            of_corpus = inputs.captions[corpus]
            wanted = {row["image_id"] for row in of_corpus}
            texts = inputs.texts[corpus] if settings["references"] else {}
            write_captions(captions, of_corpus, texts, image_files(images, wanted, folder / "images" / corpus))
        run([*command, str(captions), str(scores)], folder, 60 * snakemake.resources.time_limit, who, variables)
        found = read_scores(scores, [caption_id(row) for row in rows], who)
    key = {name: [row[name] for row in rows] for name in ("corpus", "image_id", "caption_index")}
    write_table(snakemake.output[0], SCORES, {**key, "metric": [metric] * len(rows), "score": found})
