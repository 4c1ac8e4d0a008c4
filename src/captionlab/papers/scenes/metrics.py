"""Table 1: metrics of scene captions over the epochs of finetuning."""

from collections.abc import Iterable, Mapping
from typing import Any

from captionlab.evaluation.rows import row
from captionlab.intervals import SIMILAR, within
from captionlab.papers.scenes.run import Provenance, Row, Rows, ScenesRun, scenes_sheet, three
from captionlab.reporting.builder import Line, Number, blocks_of, columns_of
from captionlab.reporting.footnotes import OVER_IMAGES
from captionlab.reporting.render import Table

# Our metrics by the headings of the paper's Table 1.
METRICS = {"B4": "BLEU@4", "M": "METEOR", "RL": "ROUGE-L", "CIDEr": "CIDEr", "SPICE": "SPICE"}
CAPTIONS = "scene captions"
END = "the end of the finetuning"


def caption_rows(
    summary: Iterable[Row], comparisons: Iterable[Row], labels: Mapping[str, str], evaluation: str, end: str
) -> tuple[Rows, Rows]:
    """Metrics of captioners by the paper's label (`labels`: by name), and their differences from their parents.

    Against the captioner `end`, with which the finetuning ends, whether those stopped before are similar to it.
    """
    values, of_end = [], {}
    for found in summary:
        if found["evaluation"] == evaluation and found["captioner"] in labels:
            of_value = found["corpus"], CAPTIONS, labels[found["captioner"]], found["metric"]
            values.append(row(*of_value, three(found), found["n"]))
            if found["captioner"] == end:
                of_end[found["corpus"], found["metric"]] = found["value"]
    differences = []
    for found in comparisons:
        if found["evaluation"] == evaluation and found["captioner"] in labels and found["against"] in (end, *labels):
            corpus, metric, number = found["corpus"], found["metric"], three(found, "difference")
            place: dict[str, Any] = {"against": labels.get(found["against"])}
            if found["against"] == end:
                place = {"against": END, "margin": SIMILAR * abs(of_end[corpus, metric])}
                number, metric = within(*number, place["margin"]), f"nearness of {metric}"
            differences.append(row(corpus, CAPTIONS, labels[found["captioner"]], metric, number, found["n"], **place))
    return values, differences


def metrics_table(run: ScenesRun, provenance: Provenance) -> Table:
    """Table 1: metrics of scene captions over the epochs of finetuning."""
    sheet = scenes_sheet(run, provenance)
    measured = run.found("measure", CAPTIONS)
    shown = {printed: metric for printed, metric in METRICS.items() if metric in measured}
    numbers = [Number({"measure": metric}, printed, printed=printed, decimals=1) for printed, metric in shown.items()]
    rank = {label: number for number, label in enumerate(run.published.rows("1"))}
    subjects = sorted(run.found("subject", CAPTIONS), key=lambda label: (rank.get(label, -1), label))
    lines = [Line([label], {"subject": label, "experiment": CAPTIONS}, label) for label in subjects]
    sheet.notes += [f"{printed} is not in this run." for printed in METRICS if printed not in shown]
    sheet.notes.append(
        f"{OVER_IMAGES} A row is the same training, stopped after so many epochs; pretrained is before it."
    )
    return sheet.table(
        "scenes_table1_metrics",
        "Scenes, table 1: scene captions over the epochs of finetuning",
        "Similarity of captions to scene captions that people wrote, before and during finetuning on such captions.",
        columns_of(["epoch"], numbers),
        blocks_of(sheet, "1", lines, numbers),
    )
