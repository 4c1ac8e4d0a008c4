"""Score the captions of a captioner for an evaluation by SPICE, all corpora in one process."""

import logging
from pathlib import Path

from captionlab.evaluation.metrics.spice.metric import BESIDE_HEAP, PARSES, SPICE, score_captions
from captionlab.evaluation.references import read_references
from captionlab.evaluation.spice_models import available_models
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import TOKENS
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    jars, reason = available_models(Path(snakemake.input.models))
    if reason:
        logging.warning("No SPICE: %s", reason)
        write_table(snakemake.output[0], SPICE, SPICE.schema.empty_table(), {"unavailable": reason})
        return
    references: dict[tuple[str, str], list[str]] = {}
    for corpus, path in zip(snakemake.params.corpora, snakemake.input.references, strict=True):
        for image, texts in read_references(path, snakemake.params.references_per_image).items():
            if told := [text for text in texts if text]:
                references[corpus, image] = told
    captions = read_table(snakemake.input.tokens, TOKENS).to_pylist()
    scored = [row for row in captions if (row["corpus"], row["image_id"]) in references]
    if len(scored) < len(captions):
        logging.warning("%d captions are not scored: their images have no reference", len(captions) - len(scored))
    tokens = [row["tokens"] for row in scored]
    theirs = [references[row["corpus"], row["image_id"]] for row in scored]
    heap, parses = snakemake.resources.mem_mb - BESIDE_HEAP, read_table(snakemake.input.parses, PARSES).to_pydict()
    scores = score_captions(tokens, theirs, jars, heap, snakemake.threads, parses)
    keys = {name: [row[name] for row in scored] for name in SPICE.key}
    write_table(snakemake.output[0], SPICE, {**keys, **scores})
