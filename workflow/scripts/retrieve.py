"""Fetch files that the config names and that do not exist."""

import logging
from pathlib import Path

from captionlab.jobs.scripting import script
from captionlab.sources.retrieval import Retrieval
from captionlab.sources.table import Source


@script
def main(snakemake):
    sources = [Source(**source) for source in snakemake.params.sources]
    retrieval = Retrieval(sources, Path(snakemake.params.data)).looked_up()
    logging.info(retrieval.described())
    retrieval.fetch()
    Path(snakemake.output[0]).touch()
