"""Measure what finetuning on scenes changes: values and differences of the scenes paper, with intervals."""

from typing import Any

from captionlab.ablation.comparison import pairs
from captionlab.ablation.schemas import ABLATED, EFFECTS
from captionlab.attention.schemas import BLOCKS, CORRELATIONS, DIFFERENCES, OVERLAPS, RANKINGS, SHARES
from captionlab.evaluation.devices import device_note
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
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
from captionlab.scripting import run
from captionlab.tables import Kind, read_table, write_table


def main(snakemake: Any) -> None:
    params, paths = snakemake.params, snakemake.input
    job, seed, corpus = params.job, params.seed, params.job["corpus"]
    blocks, shares, captions = (
        dict(zip(ROLES, (rows(path, kind) for path in of_roles), strict=True))
        for of_roles, kind in ((paths.blocks, BLOCKS), (paths.shares, SHARES), (paths.captions, ABLATED))
    )
    before_and_after = {role: pairs(of_role) for role, of_role in captions.items()}
    scores = [score for path in paths.scores for score in rows(path, SCORES)]
    object_scores = [score for path in paths.objects for score in rows(path, OBJECT_SCORES)]
    overlaps = [rows(paths.overlaps, OVERLAPS), rows(paths.rankings, RANKINGS), rows(paths.correlations, CORRELATIONS)]
    summary, comparisons = rows(paths.summary, SUMMARY), rows(paths.comparisons, COMPARISONS)
    parts = [
        caption_rows(summary, comparisons, job["labels"], job["evaluation"], job["end"]),
        attention_rows(corpus, blocks, rows(paths.differences, DIFFERENCES), seed),
        special_rows(corpus, shares, seed),
        ([], [*overlap_rows(corpus, *overlaps), *contrast_rows(corpus, overlaps[0])]),
        ablation_rows(corpus, rows(paths.effects, EFFECTS), before_and_after, seed),
        ([], shift_rows(corpus, before_and_after, job["split"], seed)),
        probe_rows(corpus, scores),
        object_probe_rows(corpus, object_scores),
    ]
    notes = device_note(paths.captions)
    outputs = ((snakemake.output.values, ROLE_VALUES), (snakemake.output.differences, ROLE_DIFFERENCES))
    for place, (path, kind) in enumerate(outputs):
        found = [row for part in parts for row in part[place]]
        write_table(path, kind, {name: [row[name] for row in found] for name in kind.columns}, notes)


def rows(path: str, kind: Kind) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_table(path, kind).to_pylist()
    return found


if __name__ == "__main__":
    run(main, globals())
