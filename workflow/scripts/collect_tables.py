"""Copy all tables of the run into one folder with an index."""

from typing import Any

from captionlab.reporting.collection import collect
from captionlab.scripting import script


@script
def main(snakemake: Any) -> None:
    collect(snakemake.input.tables, snakemake.output[0])
