"""Read questions about the images of a corpus, with their answers."""

import logging
from pathlib import Path

from captionlab.jobs.scripting import script
from captionlab.questions.reading import read_questions


@script
def main(snakemake):
    params, inputs = snakemake.params, snakemake.input
    tables = {name: Path(inputs[name]) for name in ("images", "objects", "scene_captions")}
    name, root = snakemake.wildcards.questions, Path(params.data)
    number, images = read_questions(params.config, root, tables, Path(snakemake.output[0]), name)
    logging.info("%s: %d questions about %d images of %s", name, number, images, snakemake.wildcards.corpus)
