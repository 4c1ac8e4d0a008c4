"""Read captions that people judged, and make the corpus against which they are scored."""

import logging
from pathlib import Path

from captionlab.jobs.scripting import script
from captionlab.judgements.reading import OF_CORPUS, read_judgements


@script
def main(snakemake):
    name, params = snakemake.wildcards.judgements, snakemake.params
    inputs = {table: Path(snakemake.input[table]) for table in OF_CORPUS}
    outputs = {table: Path(path) for table, path in snakemake.output.items()}
    rows = read_judgements(params.config, Path(params.data), inputs, outputs, name)
    logging.info("%s: %s", name, ", ".join(f"{number} {table}" for table, number in rows.items()))
