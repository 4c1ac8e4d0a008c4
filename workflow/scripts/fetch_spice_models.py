"""Fetch the jars that SPICE needs beside pycocoevalcap's; where they cannot be had and are not required, say why."""

import logging
from pathlib import Path
from typing import Any

from captionlab.evaluation.spice_models import ModelsUnavailable, fetch_models, write_unavailable
from captionlab.scripting import run


def main(snakemake: Any) -> None:
    folder = Path(snakemake.output[0])
    try:
        fetch_models(Path(snakemake.input.pom), Path(snakemake.input.checksums), folder)
    except ModelsUnavailable as error:
        if snakemake.params.required:
            raise
        logging.warning("The tables will be without SPICE: %s. Delete %s to try again.", error, folder)
        write_unavailable(folder, str(error))


if __name__ == "__main__":
    run(main, globals())
