"""Measure how well each metric agrees with people who judged captions, and how far every two metrics differ."""

import logging
from pathlib import Path

from captionlab.config.blocks import POOL
from captionlab.evaluation.summary import of_captions
from captionlab.jobs.scripting import script
from captionlab.judgements.correlation import Scores, agreement_rows
from captionlab.judgements.pooling import pooled_image, pooled_rows, pooled_scores
from captionlab.judgements.schemas import CANDIDATES, CORRELATIONS, DIFFERENCES, PREFERENCES, RATINGS, SLICES
from captionlab.judgements.slices import slice_rows
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    judged = {"candidates": CANDIDATES, "ratings": RATINGS, "preferences": PREFERENCES}
    metrics = []
    for table, paths in snakemake.input.items():
        if table not in judged:
            for path, one in ((p, found) for p in paths for found in of_captions(table, p, snakemake.params.factors)):
                # The corpus of judged captions has the name of their set.
                keys = [(pooled_image(corpus, image), index) for corpus, image, index in one.keys]
                values = dict(zip(keys, one.values.tolist(), strict=True))
                # Each command has a table of its own; the file of the table nlg has the name of the set.
                metrics.append(Scores(one.metric, one.scorer, values, table if table == "nlg" else Path(path).stem))
    names = snakemake.wildcards.judgements.split(POOL)
    candidates, ratings, preferences = (
        pooled_rows({name: read_table(path, kind).to_pylist() for name, path in zip(names, of, strict=True)})
        for of, kind in ((snakemake.input[table], kind) for table, kind in judged.items())
    )
    metrics, seed = pooled_scores(metrics), snakemake.params.seed
    values, differences = agreement_rows(metrics, ratings, preferences, seed)
    write_table(snakemake.output.correlations, CORRELATIONS, values)
    write_table(snakemake.output.differences, DIFFERENCES, differences)
    write_table(snakemake.output.slices, SLICES, slice_rows(metrics, ratings, candidates, seed))
    logging.info("%d metrics, %d ratings and %d preferences", len(metrics), len(ratings), len(preferences))
