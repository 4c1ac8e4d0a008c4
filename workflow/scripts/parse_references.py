"""Parse the references of a corpus for SPICE. Each text is parsed only once on this machine."""

import logging
import tempfile
from pathlib import Path

from captionlab.evaluation.metrics.spice.metric import BESIDE_HEAP, PARSES, cache_keys, has_cache, parse_captions
from captionlab.evaluation.spice_models import STATUS, available_models
from captionlab.jobs.scripting import script
from captionlab.storage.cache import keep_part, kept_parts
from captionlab.storage.files import digest
from captionlab.storage.schemas import TOKENS
from captionlab.storage.tables import TableError, read_table, write_table


def earlier_parses(version):
    """Return the parses that earlier runs kept, by key. Damaged files are left out and logged."""
    parses = {}
    for path in kept_parts(version):
        try:
            table = read_table(path, PARSES)
        except TableError as error:
            logging.warning("Parsed again: %s", error)
            continue
        parses |= zip(table["key"].to_pylist(), table["tuples"].to_pylist(), strict=True)
    return parses


@script
def main(snakemake):
    models, output = Path(snakemake.input.models), snakemake.output[0]
    jars, reason = available_models(models)
    if reason or not has_cache():
        write_table(output, PARSES, PARSES.schema.empty_table())
        return
    version = ["parses", dict(snakemake.params.items()), digest(models / STATUS)]
    wanted = cache_keys(read_table(snakemake.input.references, TOKENS, ["tokens"])["tokens"].to_pylist())
    parses = {key: tuples for key, tuples in earlier_parses(version).items() if key in wanted}
    missing = [text for key, text in wanted.items() if key not in parses]
    logging.info("Earlier runs on this machine parsed %d of %d references", len(parses), len(wanted))
    if missing:
        new = parse_captions(missing, jars, snakemake.resources.mem_mb - BESIDE_HEAP, snakemake.threads)
        with tempfile.TemporaryDirectory(prefix="parses-") as folder:
            write_table(Path(folder, "parses.parquet"), PARSES, new)
            keep_part(version, Path(folder, "parses.parquet"))
        parses |= zip(new["key"], new["tuples"], strict=True)
    rows = sorted(parses.items())
    write_table(output, PARSES, {"key": [key for key, _ in rows], "tuples": [tuples for _, tuples in rows]})
