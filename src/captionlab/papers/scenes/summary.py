"""Measure what finetuning on scenes changes: values and differences, with intervals."""

from collections.abc import Mapping
from typing import Any

from captionlab.ablation.comparison import pairs
from captionlab.ablation.schemas import ABLATED, EFFECTS
from captionlab.attention.schemas import BLOCKS, CORRELATIONS, DIFFERENCES, OVERLAPS, RANKINGS, SHARES
from captionlab.papers.scenes.measurements import (
    ablation_rows,
    attention_rows,
    caption_rows,
    contrast_rows,
    object_probe_rows,
    overlap_rows,
    probe_rows,
    shift_rows,
    special_rows,
)
from captionlab.probes.schemas import OBJECT_SCORES, SCORES
from captionlab.roles import ROLES
from captionlab.schemas import COMPARISONS, SUMMARY
from captionlab.tables import TableSchema, read_table

Rows = list[dict[str, Any]]


def summarise(inputs: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[Rows, Rows, list[str]]:
    """Rows of values and of differences, and the tables that know the device of what they were measured on."""
    job, seed, corpus = params["job"], params["seed"], params["job"]["corpus"]

    def rows(name: str, kind: TableSchema) -> Rows:
        found: Rows = read_table(inputs[name], kind).to_pylist()
        return found

    blocks, shares, captions = (
        {role: read_table(path, kind).to_pylist() for role, path in zip(ROLES, inputs[name], strict=True)}
        for name, kind in (("blocks", BLOCKS), ("shares", SHARES), ("captions", ABLATED))
    )
    before_and_after = {role: pairs(of_role) for role, of_role in captions.items()}
    overlaps = [rows("overlaps", OVERLAPS), rows("rankings", RANKINGS), rows("correlations", CORRELATIONS)]
    summary, comparisons = rows("summary", SUMMARY), rows("comparisons", COMPARISONS)
    parts = [
        caption_rows(summary, comparisons, job["labels"], job["evaluation"], job["end"]),
        attention_rows(corpus, blocks, rows("differences", DIFFERENCES), seed),
        special_rows(corpus, shares, seed),
        ([], [*overlap_rows(corpus, *overlaps), *contrast_rows(corpus, overlaps[0])]),
        ablation_rows(corpus, rows("effects", EFFECTS), before_and_after, seed),
        ([], shift_rows(corpus, before_and_after, job["split"], seed)),
        probe_rows(corpus, rows("scores", SCORES)),
        object_probe_rows(corpus, rows("objects", OBJECT_SCORES)),
    ]
    values, differences = ([row for part in parts for row in part[place]] for place in (0, 1))
    return values, differences, inputs["captions"]
