"""Build the page that shows the captions of every captioner for every image, with its data and thumbnails."""

from pathlib import Path

from captionlab.browser.site import build
from captionlab.scripting import script


@script
def main(snakemake):
    build(Path(snakemake.output[0]), snakemake.input.page, snakemake.input, snakemake.params, snakemake.threads)
