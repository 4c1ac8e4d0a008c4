"""Figures of the paper's questions: retrieval by corpus, how finetuning went, and what participants saw."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pyarrow.compute as pc

from captionlab.papers.discritune.study_figures import examples, plot_examples, plot_screen
from captionlab.reporting.figures import Style, colour_of, errors, save
from captionlab.reporting.published import read_published
from captionlab.reporting.reproduction import Reproduction, in_order
from captionlab.reporting.runs import Place
from captionlab.schemas import IMAGES, SUMMARY, TRAINING
from captionlab.study.responses import SIMULATED
from captionlab.study.schemas import ANSWERS, STIMULI
from captionlab.tables import read_table

Given = Mapping[str, Any]
# The name that the validation of a training gives its CIDEr.
CIDER = "validation_cider"


def plot(inputs: Given, params: Given, style: Style, paths: Mapping[str, str]) -> None:
    """Those that the config asks for."""
    if params["config"]:
        published = read_published(inputs["published"])
        order = {"captioners": published.rows("1"), "corpora": published.columns("1")}
        plot_retrieval(inputs["summary"], params["config"], order, style, paths["discritune_retrieval"])
        plot_finetuning(inputs["training"], params["finetuned"], style, paths["discritune_finetuning"])
    if "stimuli" not in inputs:
        return
    screens = read_table(inputs["stimuli"], STIMULI).to_pylist()
    images = read_table(inputs["images"], IMAGES, ["image_id", "path", "data"])
    for who, path in zip(params["participants"], inputs["answers"], strict=True):
        chosen = examples(screens, read_table(path, ANSWERS).to_pylist(), params["people"], params["parents"])
        plot_examples(chosen, images, who == SIMULATED, style, paths[f"discritune_figure2_{who}"])
    questions = (row for row in screens if row["role"] == "question" and row["caption_type"] == params["people"])
    plot_screen(next(questions), images, style, paths["discritune_figure3_screen"])


def plot_retrieval(
    summary: str, block: Mapping[str, Any], published: Mapping[str, Sequence[str]], style: Style, path: str
) -> None:
    """P@1 of each captioner on each corpus with its interval, a panel for each retriever.

    `summary` is a SUMMARY table; `block` has `captioners` and `corpora` (label -> name in the config) and perhaps
    `retrievers` and `evaluations`. `published` has the labels in the paper's order.
    """
    paper, rows = Reproduction(block), read_table(summary, SUMMARY).to_pylist()
    # Among drawn candidates; a whole test set is another question.
    run = paper.run(row for row in rows if not str(row["candidates"]).startswith("full"))
    retrievers, captioners = paper.retrievers_of(run), in_order(paper.captioners, published["captioners"])
    corpora: dict[str, str] = {}
    for label in in_order(paper.corpora, published["corpora"]):  # Tables 1 and 3 call one corpus by two labels
        corpora.setdefault(paper.corpora[label], label)
    with plt.rc_context({"font.size": style["font_size"]}):
        figure, axes = plt.subplots(
            len(retrievers), 1, figsize=(7.5, 2.6 * len(retrievers)), sharex=True, squeeze=False, layout="constrained"
        )
        for axis, retriever in zip(axes[:, 0], retrievers, strict=True):
            for index, label in enumerate(captioners):
                shift = (index - (len(captioners) - 1) / 2) * 0.13
                values = [run.value(Place(paper.captioners[label], name, "P@1", retriever)) for name in corpora]
                there = [(x + shift, value) for x, value in enumerate(values) if value is not None]
                positions, found = [x for x, _ in there], [value for _, value in there]
                drawn = {"fmt": "o", "markersize": 4, "capsize": 2, "label": label, "color": colour_of(style, index)}
                axis.errorbar(positions, [one.value for one in found], errors(found), **drawn)
            axis.set_ylabel(f"P@1 by {retriever} (%)")
            axis.set_ylim(0, None)
        axes[-1, 0].set_xticks(range(len(corpora)), list(corpora.values()), rotation=15)
        axes[0, 0].legend(ncols=3, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(figure, path, style)


def plot_finetuning(logs: Sequence[str], names: Sequence[str], style: Style, path: str) -> None:
    """Curves of finetuning, a line for each captioner: reward, P@1 in the batch, CIDEr, and length of the captions.

    `logs` are TRAINING tables in the order of `names`. CIDEr is that of the validation, where captioners have one.
    """
    statistics = {"reward": "reward", "accuracy": "P@1 in the batch", "caption_length": "tokens of a caption"}
    tables = [read_table(log, TRAINING) for log in logs]
    if any(CIDER in table["statistic"].to_pylist() for table in tables):
        statistics = {**statistics, CIDER: "CIDEr on validation images"}
    with plt.rc_context({"font.size": style["font_size"]}):
        figure, axes = plt.subplots(
            1, len(statistics), figsize=(2.5 * len(statistics), 2.6), squeeze=False, layout="constrained"
        )
        for index, (log, name, table) in enumerate(zip(logs, names, tables, strict=True)):
            for axis, statistic in zip(axes[0], statistics, strict=True):
                values = table.filter(pc.equal(table["statistic"], statistic))
                if not values.num_rows and statistic != CIDER:
                    raise ValueError(f"{log}: this training logged no {statistic!r}")
                scale, marker = (100, ".") if statistic == CIDER else (1, None)  # as in all tables
                drawn = {"color": colour_of(style, index), "label": name, "linewidth": 1.2, "marker": marker}
                axis.plot(values["step"], pc.multiply(values["value"], scale), **drawn)
        for axis, label in zip(axes[0], statistics.values(), strict=True):
            axis.set_xlabel("updates")
            axis.set_title(label, fontsize=style["font_size"])
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
        save(figure, path, style)
