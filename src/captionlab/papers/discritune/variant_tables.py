"""Tables of variants of Dessì et al. 2023 from a run: values over seeds, the published beside them, differences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from captionlab.papers.discritune.layouts import (
    DECIMALS,
    RETRIEVAL_METRIC,
    TEXT,
    TEXT_HEADINGS,
    VARIANTS,
    VariantsLayout,
)
from captionlab.reporting.builder import Line, Number, blocks_of, columns_of
from captionlab.reporting.published import Published
from captionlab.reporting.render import Table
from captionlab.reporting.runs import Row, Run
from captionlab.reporting.sheets import Sheet

# Marks a value of the retriever that gave the reward.
OWN = "°"


def variant_tables(
    values: Sequence[Row],
    differences: Sequence[Row],
    published: Published,
    block: Mapping[str, Any],
    retrievers: Mapping[str, Mapping[str, Any]],
    provenance: Mapping[str, Any],
) -> Iterator[Table]:
    """The tables of the variants in `block`, `papers.discritune` of the config.

    values, differences: rows of ROLE_VALUES and ROLE_DIFFERENCES with the variants as experiment. retrievers: of each
    variants its `judges`, the one that stands for the paper's first, and by label those that gave `rewards`.
    `provenance` is described at `run_notes`.
    """
    for layout in VARIANTS:
        if layout.variants in block.get("variants", {}):
            variants = block["variants"][layout.variants]
            run = Run(values, differences, published, block["comparable"], variants["corpora"])
            yield _table(layout, variants, retrievers[layout.variants], Sheet(run, provenance))


def _table(layout: VariantsLayout, variants: Mapping[str, Any], asked: Mapping[str, Any], sheet: Sheet) -> Table:
    reference, found = variants["reference"], sheet.run.found("measure", layout.variants)
    order = sheet.run.published.rows(layout.published) if layout.published else []
    labels = sorted(variants["captioners"], key=lambda label: (order.index(label) if label in order else 99, label))
    # Metric, and the retriever whose word it is.
    measured = [
        (metric, retriever)
        for metric in layout.metrics
        if metric in found
        for retriever in (asked["judges"] if metric == RETRIEVAL_METRIC else [None])
    ]
    numbers = []
    for number, (metric, retriever) in enumerate(measured):
        heading, decimals = TEXT_HEADINGS.get(metric, metric), DECIMALS[metric]
        group, place = " by ".join(filter(None, (heading, retriever))), {"measure": metric, "scorer": retriever}
        # The paper's numbers stand beside those of the first retriever, and beside text metrics.
        printed = heading if layout.published and (number == 0 or metric != RETRIEVAL_METRIC) else None
        numbers.append(
            Number(
                place, group, printed=printed, decimals=decimals,
                mark=lambda of: OWN if of.scorer in asked["rewards"].get(of.subject, ()) else "",
            )
        )  # fmt: skip
        numbers.append(Number(place, group, f"against {reference}", against=reference, decimals=decimals))
    lines = [Line([label], {"subject": label, "experiment": layout.variants}, label) for label in labels]
    blocks = blocks_of(sheet, layout.published, lines, numbers)
    if any(OWN in cell.text for block in blocks for row in block.rows for cell in row):
        sheet.notes.append(f"{OWN} by the retriever that gave the reward.")
    if layout.metrics == TEXT and "SPICE" not in found:
        sheet.notes.append("SPICE is not in this run.")
    return sheet.table(
        layout.name,
        f"DiscriTune, {layout.title}",
        f"{_what(layout)} Means over trainings, and the difference from {reference}, each with its 95 % interval.",
        columns_of(["captioner"], numbers),
        blocks,
    )


def _what(layout: VariantsLayout) -> str:
    parts = []
    if RETRIEVAL_METRIC in layout.metrics:
        parts.append("P@1 (%): the share of captions by which a retriever finds their image among the candidates.")
    if layout.metrics == TEXT:
        parts.append("BLEU-4 (B@4), METEOR (M), CIDEr (C) and SPICE (S), times 100.")
    elif "CIDEr" in layout.metrics:
        parts.append("CIDEr (C), times 100.")
    return " ".join(parts)
