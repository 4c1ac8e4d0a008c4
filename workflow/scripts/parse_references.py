"""Parse the references of a corpus once, for every SPICE that is computed with them."""

from pathlib import Path

from captionlab.evaluation.metrics.spice import BESIDE_HEAP, PARSES, parse_captions
from captionlab.evaluation.spice_models import available_models
from captionlab.schemas import TOKENS
from captionlab.scripting import script
from captionlab.tables import read_table, write_table


@script
def main(snakemake):
    jars, reason = available_models(Path(snakemake.input.models))
    references = [] if reason else read_table(snakemake.input.references, TOKENS, ["tokens"])["tokens"].to_pylist()
    parses = parse_captions(references, jars, snakemake.resources.mem_mb - BESIDE_HEAP, snakemake.threads)
    write_table(snakemake.output[0], PARSES, parses)
