"""Fetch the jars that SPICE needs beside pycocoevalcap's. If they are optional and unavailable, record the reason."""

import logging
from pathlib import Path

from captionlab.evaluation.spice_models import ModelsUnavailable, fetch_models, write_unavailable
from captionlab.jobs.scripting import script


@script
def main(snakemake):
    folder = Path(snakemake.output[0])
    try:
        fetch_models(Path(snakemake.input.pom), Path(snakemake.input.checksums), folder)
    except ModelsUnavailable as error:
        if snakemake.params.required:
            raise
        # Footers of tables repeat the reason.
        reason = f"{error}; to try again, delete {folder} and run again"
        logging.warning("The tables will be without SPICE: %s.", reason)
        write_unavailable(folder, reason)
