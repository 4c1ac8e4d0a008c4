"""Build the page that shows the captions of every captioner for every image, with its data and thumbnails."""

from pathlib import Path

from captionlab.browser.site import build
from captionlab.jobs.scripting import script


@script
def main(snakemake):
    shown = {**snakemake.params.shown, "about": snakemake.params.about}
    build(Path(snakemake.output[0]), snakemake.input.page, snakemake.input, shown, snakemake.threads)
