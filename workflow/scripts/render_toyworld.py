"""Render a corpus of the toy world: images, captions, objects and scenes."""

from captionlab.corpora.tables import TABLES
from captionlab.corpora.toyworld.render import render, write_corpus
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import script


@script
def main(snakemake):
    config = snakemake.params.config
    images = render(config["domain"], config["seed"], config["images"])
    total = sum(config["images"].values())
    write_corpus(progress(images, "images", total), {table: snakemake.output[table] for table in TABLES})
