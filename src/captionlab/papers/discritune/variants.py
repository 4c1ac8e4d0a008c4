"""What the parts of discriminative finetuning are worth: captioners that differ in one of them, over seeds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from captionlab.evaluation.summary import NLG_METRICS, SPICE_METRICS, Result, nlg_results, retrieval_results
from captionlab.intervals import SIMILAR, within
from captionlab.papers.discritune.finetuning import Scores
from captionlab.reporting.roles import Place, Results, difference_rows, value_rows

# Search among all images of a corpus; the paper's is among a set of candidates, and a place holds one number.
FULL = "full"
RETRIEVAL = "P@1"


def evaluated_results(scores: Scores, seed: int) -> dict[Place, Result]:
    """Every measure of a captioner by corpus and retriever."""
    found = [*nlg_results(scores.job, scores.nlg, seed, NLG_METRICS)]
    if scores.spice is not None:
        found += nlg_results(scores.job, scores.spice, seed, SPICE_METRICS)
    if scores.retrieval is not None:
        found += (one for one in retrieval_results(scores.job, scores.retrieval, seed) if one.candidates != FULL)
    return {(result.corpus, result.metric, result.retriever): result for result in found}


def variant_rows(
    name: str, variants: Mapping[str, Any], results: Mapping[str, Results]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of ROLE_VALUES and of ROLE_DIFFERENCES of one group of variants, its name as the experiment.

    `variants` has `captioners` (label -> captioners, one for each seed), `corpora` (names), `reference` (the label that
    others are compared with) and `rewards` (label -> retrievers that gave the reward). Captioners are compared seed by
    seed, by their order; one that has no seeds is compared with the reference's of every seed. `nearness of P@1` is
    above 0 where a captioner finds about as many images as the reference. Raises ValueError when two captioners were
    evaluated on different images.
    """
    roles, reference = variants["captioners"], variants["reference"]
    seeds: Sequence[str] = roles[reference]
    every, paired, partners = dict(results), dict(roles), dict[str, str | None]()
    for label, captioners in roles.items():
        if label == reference or len(seeds) == 1:
            continue
        if len(captioners) == 1:
            paired[label] = [f"{captioners[0]} against {other}" for other in seeds]
            every |= {one: results[captioners[0]] for one in paired[label]}
        partners |= zip(paired[label], seeds, strict=True)
    values = [*value_rows(roles, results)]
    differences = [*difference_rows(paired, every, reference, partners, variants["rewards"])]
    differences += _near(differences, [row for row in values if row["subject"] == reference])
    kept = [
        [{**row, "experiment": name} for row in rows if row["corpus"] in variants["corpora"]]
        for rows in (values, differences)
    ]
    return kept[0], kept[1]


def _near(differences: Sequence[Mapping[str, Any]], values: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Whether differences in retrieval accuracy are small, from them and the reference's values."""
    found = {(row["corpus"], row["scorer"]): row["value"] for row in values if row["measure"] == RETRIEVAL}
    for row in differences:
        if row["measure"] == RETRIEVAL:
            margin = SIMILAR * abs(found[row["corpus"], row["scorer"]])
            near, low, high = within(row["difference"], row["ci_low"], row["ci_high"], margin)
            told = {"difference": near, "ci_low": low, "ci_high": high, "margin": margin}
            yield {**row, **told, "measure": f"nearness of {RETRIEVAL}"}
