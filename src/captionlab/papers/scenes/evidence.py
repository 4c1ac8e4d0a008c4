"""Evidence on the paper's claims: differences between the captioner before and after finetuning."""

from captionlab.config.roles import FINETUNED, PRETRAINED
from captionlab.papers.scenes.captions import END, METRICS
from captionlab.papers.scenes.probes import FOREST, HALFWAY, INTACT, NETWORK, PROBING, PROBING_ABLATED, split_name
from captionlab.papers.scenes.values import CAPTIONS
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.claims.printed import Row, Sides, mean, pair
from captionlab.reporting.claims.reading import read_evidence

HEADINGS = {measure: heading for heading, measure in METRICS.items()}
# The row of Table 1 at the end of the finetuning.
LAST_EPOCH = "10"
# The split whose captions are counted in section 6.2, where the paper names none (docs/fidelity.md).
TESTED = "test"
# Rows of Tables 6 and 7 by role, and the mark of ablated inputs there.
STATES = {PRETRAINED: "PRE", FINETUNED: "FT"}
MARKS = {PROBING: "", PROBING_ABLATED: " (A)"}
TEST_SHARE = "test share "


def evidence(inputs: Row, params: Row) -> Evidence:
    """Return the differences. Each experiment is about one corpus."""
    return read_evidence(inputs, params, sides_of, {})


def sides_of(row: Row) -> Sides | None:
    """Return the published numbers for the two sides of a row, or None."""
    names = ("experiment", "subject", "measure", "source", "level", "against")
    experiment, subject, measure, source, level, against = (row[name] for name in names)
    # Metrics after an epoch against metrics after the last epoch (Table 1, which has none before the first).
    if experiment == CAPTIONS and against == END:
        metric = HEADINGS.get(measure, measure)
        return pair((subject, "HL-Scenes", metric), (LAST_EPOCH, "HL-Scenes", metric))
    # The correlation of both overlaps (Table 2).
    if (experiment, subject, measure) == ("overlap", FINETUNED, "r"):
        return {("r", "all", "r"): 1.0}, 0.0
    # Mean overlap of some scenes against the mean overlap of others, by depth (Table 2).
    if (experiment, subject) == ("overlap of scenes", FINETUNED):
        first, second = (mean(scenes.split(", "), f"{level:g}", measure) for scenes in (source, against))
        return first, second
    # Captions that change without diagnostic objects, in per cent, all numbers of removed objects together (§6.2).
    if (experiment, source, level, measure) == ("ablation", TESTED, None, "changed"):
        return pair((subject, "6.2", "captions changed"), (against, "6.2", "captions changed"))
    if experiment not in MARKS or source != FOREST:
        return None
    # F1 of the forest by its share of test images, against another F1 (Tables 6 and 7).
    states, mark, split = STATES[subject], MARKS[experiment], split_name(level)
    if against.startswith(TEST_SHARE):
        other = split_name(float(against.removeprefix(TEST_SHARE)))
        return pair((f"{states}{mark}", split, measure), (f"{states}{mark}", other, measure))
    # The forest on the pretrained states against the middle of finetuned states and chance (Table 6).
    if against == HALFWAY:
        middle = {(f"RF {STATES[FINETUNED]}{mark}", split, measure): 0.5, ("RB", split, measure): 0.5}
        return {(f"RF {states}{mark}", split, measure): 1.0}, middle
    rows = {
        PRETRAINED: (f"{states}{mark}", f"{STATES[PRETRAINED]}{mark}"),
        INTACT: (f"{states}{mark}", states),
        NETWORK: (f"RF {states}{mark}", f"MLP {states}{mark}"),
        "random": (f"RF {states}{mark}", "RB"),
    }.get(against)
    return pair((rows[0], split, measure), (rows[1], split, measure)) if rows else None
