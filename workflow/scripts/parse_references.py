"""Parse the references of a corpus once, for every SPICE that is computed with them, in any run on this machine."""

from pathlib import Path

from captionlab.cache import once
from captionlab.evaluation.metrics.spice import BESIDE_HEAP, PARSES, has_cache, parse_captions
from captionlab.evaluation.spice_models import STATUS, available_models
from captionlab.files import digest
from captionlab.schemas import TOKENS
from captionlab.scripting import script
from captionlab.tables import read_table, write_table


@script
def main(snakemake):
    models, references, output = Path(snakemake.input.models), snakemake.input.references, snakemake.output[0]
    jars, reason = available_models(models)

    def parse() -> None:
        captions = read_table(references, TOKENS, ["tokens"])["tokens"].to_pylist()
        parses = parse_captions(captions, jars, snakemake.resources.mem_mb - BESIDE_HEAP, snakemake.threads)
        write_table(output, PARSES, parses)

    if reason or not has_cache():
        write_table(output, PARSES, PARSES.schema.empty_table())
    else:
        once([dict(snakemake.params.items()), digest(models / STATUS), digest(references)], [output], parse)
