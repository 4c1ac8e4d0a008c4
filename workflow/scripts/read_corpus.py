"""Read a published corpus: its annotations and, if there are images, check that each can be decoded."""

import logging
from pathlib import Path

from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.jobs.scripting import script


@script
def main(snakemake):
    outputs = {table: Path(snakemake.output[table]) for table in TABLES}
    corpus = snakemake.wildcards.corpus
    rows = read_corpus(snakemake.params.config, Path(snakemake.params.data), outputs, snakemake.threads, corpus)
    logging.info("%s: %s", corpus, ", ".join(f"{number} {table}" for table, number in rows.items()))
