"""Tables of ablations of Dessì et al. 2023 from a run: values over seeds, the published beside them, differences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.papers.discritune.tables import DECIMALS, RETRIEVAL_METRIC, TEXT_HEADINGS
from captionlab.papers.probing.run import Place, ProbingRun, ProbingSheet, Row
from captionlab.reporting.published import Published
from captionlab.reporting.render import Block, Cell, Column, Table

# Marks a value of the retriever that gave the reward.
OWN = "°"


@dataclass(frozen=True)
class Layout:
    """A table of an ablation: the published table if there is one, what it is about, and its metrics."""

    name: str
    title: str
    ablation: str
    published: str | None
    metrics: Sequence[str]


TEXT = tuple(TEXT_HEADINGS)
LAYOUTS = (
    Layout("discritune_table8_baselines", "table 8: baselines of REINFORCE", "baselines", "8", (RETRIEVAL_METRIC,)),
    Layout("discritune_table9_rewards", "table 9: rewards", "rewards", "9", (RETRIEVAL_METRIC,)),
    Layout(
        "discritune_table12_hard_distractors",
        "table 12: hard distractors, similarity to human captions",
        "hard-distractors",
        "12",
        TEXT,
    ),
    Layout(
        "discritune_table13_hard_distractors",
        "table 13: hard distractors, text-to-image retrieval",
        "hard-distractors",
        "13",
        (RETRIEVAL_METRIC,),
    ),
    Layout(
        "discritune_retrievers",
        "beyond the paper: which retrievers understand captions that another rewarded",
        "retrievers",
        None,
        (RETRIEVAL_METRIC,),
    ),
    Layout(
        "discritune_divergence",
        "beyond the paper: a penalty for leaving the parent",
        "divergence",
        None,
        (RETRIEVAL_METRIC, "CIDEr"),
    ),
)


def ablation_tables(
    values: Sequence[Row],
    differences: Sequence[Row],
    published: Published,
    block: Mapping[str, Any],
    retrievers: Mapping[str, Mapping[str, Any]],
    provenance: Mapping[str, Any],
) -> Iterator[Table]:
    """The tables of the ablations in `block`, `papers.discritune` of the config.

    values, differences: rows of ROLE_VALUES and ROLE_DIFFERENCES with the ablation as experiment. retrievers: of each
    ablation its `judges`, the one that stands for the paper's first, and by label those that gave `rewards`.
    `provenance` is described at `run_notes`.
    """
    for layout in LAYOUTS:
        if layout.ablation in block["ablations"]:
            ablation = {**block["ablations"][layout.ablation], "comparable": block["comparable"]}
            asked = retrievers[layout.ablation]
            run = ProbingRun(values, differences, published, {**ablation, "scorers": ()}, asked["rewards"], {})
            yield _table(layout, run, ablation, asked["judges"], ProbingSheet(run, provenance))


def _table(
    layout: Layout, run: ProbingRun, ablation: Mapping[str, Any], retrievers: Sequence[str], sheet: ProbingSheet
) -> Table:
    reference, found = ablation["reference"], run.measures(layout.ablation)
    order = run.published.rows(layout.published) if layout.published else []
    labels = sorted(ablation["captioners"], key=lambda label: (order.index(label) if label in order else 99, label))
    # Metric, and the retriever whose word it is.
    measured = [
        (metric, retriever)
        for metric in layout.metrics
        if metric in found
        for retriever in (retrievers if metric == RETRIEVAL_METRIC else [None])
    ]
    columns = [Column("captioner", numeric=False)]
    for number, (metric, retriever) in enumerate(measured):
        group = " by ".join(filter(None, (TEXT_HEADINGS.get(metric, metric), retriever)))
        columns.append(Column("this run", group=group))
        if _has_paper(layout, metric, number):
            columns.append(Column("paper", group=group))
        columns.append(Column(f"against {reference}", group=group))
    blocks = []
    for corpus, name in run.corpora.items():
        rows = []
        for label in labels:
            row = [Cell(label)]
            for number, (metric, retriever) in enumerate(measured):
                place = Place(label, name, metric, retriever, experiment=layout.ablation)
                theirs = None
                if layout.published and _has_paper(layout, metric, number):
                    theirs = run.published.find(layout.published, label, corpus, TEXT_HEADINGS.get(metric, metric))
                places = DECIMALS[metric]
                own = OWN if retriever in run.rewards.get(label, ()) else ""
                row.append(sheet.cell(place, places, published=theirs, mark=own))
                if _has_paper(layout, metric, number):
                    row.append(sheet.beside(theirs))
                row.append(Cell("") if label == reference else sheet.cell(place, places, against=reference))
            rows.append(row)
        blocks.append(Block(rows, sheet.heading(corpus)))
    if any(OWN in cell.text for block in blocks for row in block.rows for cell in row):
        sheet.notes.append(f"{OWN} by the retriever that gave the reward.")
    if layout.metrics == TEXT and "SPICE" not in found:
        sheet.notes.append("SPICE is not in this run.")
    return sheet.table(
        layout.name,
        f"DiscriTune, {layout.title}",
        f"{_what(layout)} Means over trainings, and the difference from {reference}, each with its 95 % interval.",
        columns,
        blocks,
    )


def _has_paper(layout: Layout, metric: str, number: int) -> bool:
    """The paper's numbers stand beside those of the first retriever, and beside text metrics."""
    return layout.published is not None and (number == 0 or metric != RETRIEVAL_METRIC)


def _what(layout: Layout) -> str:
    parts = []
    if RETRIEVAL_METRIC in layout.metrics:
        parts.append("P@1 (%): the share of captions by which a retriever finds their image among the candidates.")
    if layout.metrics == TEXT:
        parts.append("BLEU-4 (B@4), METEOR (M), CIDEr (C) and SPICE (S), times 100.")
    elif "CIDEr" in layout.metrics:
        parts.append("CIDEr (C), times 100.")
    return " ".join(parts)
