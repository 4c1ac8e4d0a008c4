"""Measure how well each metric agrees with people who judged captions, and how far every two metrics differ."""

import logging
from pathlib import Path

from captionlab.evaluation.summary import of_captions
from captionlab.jobs.scripting import script
from captionlab.judgements.correlation import Scores, agreement_rows
from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES, PREFERENCES, RATINGS
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    judged = {"ratings": RATINGS, "preferences": PREFERENCES}
    metrics = []
    for table, paths in snakemake.input.items():
        if table not in judged:
            for path, one in ((p, found) for p in paths for found in of_captions(table, p, snakemake.params.factors)):
                keys = [(image, index) for _, image, index in one.keys]  # all captions are of one corpus
                values = dict(zip(keys, one.values.tolist(), strict=True))
                metrics.append(Scores(one.metric, one.scorer, values, Path(path).stem))
    ratings, preferences = (read_table(snakemake.input[name], kind).to_pylist() for name, kind in judged.items())
    values, differences = agreement_rows(metrics, ratings, preferences, snakemake.params.seed)
    write_table(snakemake.output.correlations, CORRELATIONS, values)
    write_table(snakemake.output.differences, DIFFERENCES, differences)
    logging.info("%d metrics, %d ratings and %d preferences", len(metrics), len(ratings), len(preferences))
