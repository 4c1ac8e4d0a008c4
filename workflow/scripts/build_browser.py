"""Build the page that shows what every captioner said of every image, with its data and thumbnails."""

from pathlib import Path

from captionlab.browser.site import build
from captionlab.scripting import script


@script
def main(snakemake):
    build(Path(snakemake.output[0]), snakemake.input.page, snakemake.input, snakemake.params, snakemake.threads)
