"""Measure the effects of finetuning on scenes: values and differences, with intervals."""

from captionlab.ablation.comparison import pairs
from captionlab.ablation.schemas import ABLATED, EFFECTS
from captionlab.attention.schemas import BLOCKS, CORRELATIONS, DIFFERENCES, OVERLAPS, RANKINGS, SHARES
from captionlab.config.roles import ROLES
from captionlab.papers.scenes.ablation import ablation_rows, shift_rows
from captionlab.papers.scenes.attention import attention_rows, special_rows
from captionlab.papers.scenes.captions import caption_rows
from captionlab.papers.scenes.objects import contrast_rows, overlap_rows
from captionlab.papers.scenes.probes import object_probe_rows, probe_rows
from captionlab.probes.schemas import OBJECT_SCORES, SCORES
from captionlab.reporting.claims.reading import Rows, read_by, read_rows
from captionlab.reporting.runs.values import Row
from captionlab.storage.schemas import COMPARISONS, SUMMARY

TABLES = {
    "summary": SUMMARY, "comparisons": COMPARISONS, "differences": DIFFERENCES, "overlaps": OVERLAPS,
    "rankings": RANKINGS, "correlations": CORRELATIONS, "effects": EFFECTS, "scores": SCORES, "objects": OBJECT_SCORES,
}  # fmt: skip


def summarise(inputs: Row, params: Row) -> tuple[Rows, Rows, list[str]]:
    """Return rows of values, rows of differences, and the tables whose metadata name the device."""
    job, seed, corpus = params["job"], params["seed"], params["job"]["corpus"]
    rows = {name: read_rows(inputs[name], kind) for name, kind in TABLES.items()}
    blocks, shares = read_by(ROLES, inputs["blocks"], BLOCKS), read_by(ROLES, inputs["shares"], SHARES)
    captions, overlaps = read_by(ROLES, inputs["captions"], ABLATED), rows["overlaps"]
    before_and_after = {role: pairs(of_role) for role, of_role in captions.items()}
    parts = [
        caption_rows(rows["summary"], rows["comparisons"], job["labels"], job["evaluation"], job["end"]),
        attention_rows(corpus, blocks, rows["differences"], seed),
        special_rows(corpus, shares, seed),
        ([], overlap_rows(corpus, overlaps, rows["rankings"], rows["correlations"])),
        ([], contrast_rows(corpus, overlaps)),
        ablation_rows(corpus, rows["effects"], before_and_after, seed),
        ([], shift_rows(corpus, before_and_after, job["split"], seed)),
        probe_rows(corpus, rows["scores"]),
        object_probe_rows(corpus, rows["objects"]),
    ]
    values, differences = ([row for part in parts for row in part[place]] for place in (0, 1))
    return values, differences, inputs["captions"]
