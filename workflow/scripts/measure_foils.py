"""Measure how well each metric, and a language model that sees no image, tells captions from their foils."""

import logging

from captionlab.config.blocks import POOL
from captionlab.evaluation.summary import of_captions
from captionlab.jobs.scripting import script
from captionlab.judgements.foils import foil_rows
from captionlab.judgements.language import language_scores
from captionlab.judgements.pooling import pooled_rows, pooled_scores, scores_of_set
from captionlab.judgements.schemas import FOIL_DIFFERENCES, FOIL_MEASURES, PREFERENCES
from captionlab.storage.schemas import TOKENS
from captionlab.storage.tables import read_table, write_table
from captionlab.texts.arpa import read_arpa


@script
def main(snakemake):
    inputs, params, names = snakemake.input, snakemake.params, snakemake.wildcards.judgements.split(POOL)
    tables = {table: inputs[table] for table in params.tables}
    metrics = pooled_scores(
        scores_of_set(one.metric, one.scorer, one.keys, one.values.tolist(), table, path)
        for table, paths in tables.items()
        for path in paths
        for one in of_captions(table, path, params.factors)
    )
    if inputs.model:
        tokens = [read_table(path, TOKENS).to_pylist() for path in inputs.tokens]
        metrics.append(language_scores(read_arpa(inputs.model[0]), dict(zip(names, tokens, strict=True))))
    preferences = [read_table(path, PREFERENCES).to_pylist() for path in inputs.preferences]
    pairs = pooled_rows(dict(zip(names, preferences, strict=True)))
    values, differences = foil_rows(metrics, pairs, params.thresholds, params.seed)
    write_table(snakemake.output.measures, FOIL_MEASURES, values)
    write_table(snakemake.output.differences, FOIL_DIFFERENCES, differences)
    logging.info("%d metrics, %d pairs", len(metrics), len(pairs))
