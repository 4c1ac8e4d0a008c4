"""Measure how well each metric agrees with people who judged captions, and how far every two metrics differ."""

import logging

from captionlab.config.blocks import POOL
from captionlab.evaluation.summary import of_captions
from captionlab.jobs.scripting import script
from captionlab.judgements.correlation import agreement_rows
from captionlab.judgements.pooling import pooled_rows, pooled_scores, scores_of_set
from captionlab.judgements.schemas import CANDIDATES, CORRELATIONS, DIFFERENCES, PREFERENCES, RATINGS, SLICES
from captionlab.judgements.slices import slice_rows
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    judged = {"candidates": CANDIDATES, "ratings": RATINGS, "preferences": PREFERENCES}
    tables = {table: paths for table, paths in snakemake.input.items() if table not in judged}
    metrics = pooled_scores(
        scores_of_set(one.metric, one.scorer, one.keys, one.values.tolist(), table, path)
        for table, paths in tables.items()
        for path in paths
        for one in of_captions(table, path, snakemake.params.factors)
    )
    names = snakemake.wildcards.judgements.split(POOL)
    candidates, ratings, preferences = (
        pooled_rows({name: read_table(path, kind).to_pylist() for name, path in zip(names, of, strict=True)})
        for of, kind in ((snakemake.input[table], kind) for table, kind in judged.items())
    )
    seed = snakemake.params.seed
    values, differences = agreement_rows(metrics, ratings, preferences, seed)
    write_table(snakemake.output.correlations, CORRELATIONS, values)
    write_table(snakemake.output.differences, DIFFERENCES, differences)
    write_table(snakemake.output.slices, SLICES, slice_rows(metrics, ratings, candidates, seed))
    logging.info("%d metrics, %d ratings and %d preferences", len(metrics), len(ratings), len(preferences))
