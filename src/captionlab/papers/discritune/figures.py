"""Figures: retrieval by corpus, curves of finetuning, examples of the study (Figure 2), and its screen (Figure 3)."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from string import ascii_lowercase
from textwrap import shorten
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

from captionlab.evaluation.metrics.retrieval.metric import is_named
from captionlab.images.locations import LOCATION
from captionlab.reporting.claims.reading import read_by, read_rows
from captionlab.reporting.runs.published import read_published
from captionlab.reporting.runs.reproduction import Reproduction, in_order
from captionlab.reporting.runs.values import Coordinates, Row
from captionlab.reporting.tables.boards import BOLD, GREY, Board, words
from captionlab.reporting.tables.figures import Draw, Look, Style, legend, line, looks, panels, side_by_side
from captionlab.storage.row_groups import read_chosen
from captionlab.storage.schemas import IMAGES, SUMMARY, TRAINING
from captionlab.storage.tables import read_table
from captionlab.study.pages import file_name, pictures
from captionlab.study.psychopy import COLUMNS, quoted
from captionlab.study.responses import SIMULATED
from captionlab.study.schemas import ANSWERS, STIMULI

Given = Mapping[str, Any]
# The name that the validation of a training gives its CIDEr.
CIDER = "validation_cider"
STATISTICS = {"reward": "reward", "accuracy": "P@1 in the batch", "caption_length": "tokens of a caption"}
# A running mean covers one of this many parts of a training.
PARTS = 10
EXAMPLES = 6
# Number of characters of a caption that are shown.
SHOWN = 150
RIGHT = "#2f7d32"
# Space between and around the items of a board, in inches.
GAP = 0.1


def drawings(inputs: Given, params: Given, style: Style) -> dict[str, Draw]:
    """Return the figures that the config asks for, as functions of the width in inches."""
    found: dict[str, Draw] = {}
    labels = {name: label for label, name in params["config"].get("captioners", {}).items()}
    if params["config"]:
        published = read_published(inputs["published"])
        order = {"captioners": published.rows("1"), "corpora": published.columns("1")}
        of_labels = looks(style, in_order(labels.values(), order["captioners"]))
        given = inputs["summary"], params["config"], order, params["rewarding"]
        found["discritune_retrieval"] = partial(draw_retrieval, *given, of_labels, style)
        logs = {labels[name]: log for name, log in zip(params["finetuned"], inputs["training"], strict=True)}
        found["discritune_finetuning"] = partial(draw_finetuning, logs, of_labels, style)
    if "stimuli" not in inputs:
        return found
    screens, people = read_rows(inputs["stimuli"], STIMULI), params["people"]
    shown = {image for screen in screens for image in screen["images"]}
    images = read_chosen(inputs["images"], IMAGES, ["image_id", *LOCATION], shown)
    for who, answers in read_by(params["participants"], inputs["answers"], ANSWERS).items():
        chosen = examples(screens, answers, people, params["parents"])
        found[f"discritune_figure2_{who}"] = partial(draw_examples, chosen, images, labels, who == SIMULATED, style)
    questions = (row for row in screens if row["role"] == "question" and row["caption_type"] == people)
    found["discritune_figure3_screen"] = partial(draw_screen, next(questions), images, style)
    return found


def draw_retrieval(
    summary: str,
    block: Given,
    published: Mapping[str, Sequence[str]],
    rewarding: Sequence[str],
    of_labels: Mapping[str, Look],
    style: Style,
    width: float,
) -> Figure:
    """Draw P@1 of each captioner on each corpus with its interval, a panel for each retriever.

    `summary` is a SUMMARY table. `block` has `captioners` and `corpora` (label -> name in the config) and optionally
    `retrievers` and `evaluations`. `published` has the labels in the paper's order, `rewarding` the retrievers that
    gave rewards, and `of_labels` a look for each captioner.
    """
    paper, rows = Reproduction(block), read_rows(summary, SUMMARY)
    # Only retrieval among drawn candidates: retrieval in a whole test set is another task.
    run = paper.run(row for row in rows if is_named(row["candidates"]))
    retrievers = paper.retrievers_of(run)
    corpora: dict[str, str] = {}
    # Tables 1 and 3 have different labels for the same corpus.
    for label in in_order(paper.corpora, published["corpora"]):
        corpora.setdefault(paper.corpora[label], label)
    figure, axes = panels(len(retrievers), width, 2.2, width, sharex=True)
    for axis, retriever in zip(axes, retrievers, strict=True):
        for (label, look), shift in zip(of_labels.items(), side_by_side(len(of_labels)), strict=True):
            places = [Coordinates(paper.captioners[label], name, "P@1", retriever) for name in corpora]
            points = {x + shift: run.value(place) for x, place in enumerate(places)}
            line(axis, points, label, look, linestyle="none")
        for x in range(0, len(corpora), 2):  # shading groups the captioners of a corpus
            axis.axvspan(x - 0.5, x + 0.5, color="#f2f2f2", zorder=0)
        axis.set(ylabel="P@1 (%)", ylim=(0, None), xlim=(-0.5, len(corpora) - 0.5))
        axis.set_title(_called(retriever, retrievers, rewarding), loc="left")
    axes[-1].set_xticks(range(len(corpora)), [*corpora.values()], rotation=30, ha="right", rotation_mode="anchor")
    legend(figure, style, *axes[0].get_legend_handles_labels())
    return figure


def _called(retriever: str, retrievers: Sequence[str], rewarding: Sequence[str]) -> str:
    """Return the title of a retriever's panel. The retriever's name is added if several have the same role."""
    alike = [one for one in retrievers if (one in rewarding) == (retriever in rewarding)]
    what = "by the retriever that gave the reward" if retriever in rewarding else "by another retriever"
    return what if len(alike) == 1 else f"{what}: {retriever}"


def draw_finetuning(logs: Mapping[str, str], of_labels: Mapping[str, Look], style: Style, width: float) -> Figure:
    """Draw curves of finetuning, a line for each captioner: reward, P@1 in the batch, CIDEr, and caption length.

    `logs` are TRAINING tables by the captioners' labels. Values of each update are drawn faintly, their running mean as
    a line. CIDEr is measured in validation and drawn for captioners that log it. Raises ValueError if a training lacks
    another statistic.
    """
    tables = {label: read_table(log, TRAINING) for label, log in logs.items()}
    validated = any(CIDER in table["statistic"].to_pylist() for table in tables.values())
    statistics = {**STATISTICS, **({CIDER: "CIDEr in validation"} if validated else {})}
    figure, axes = panels(len(statistics), width, 1.9, 1.6)
    for axis, (statistic, title) in zip(axes, statistics.items(), strict=True):
        for label, table in tables.items():
            logged, look = table.filter(pc.equal(table["statistic"], statistic)), of_labels[label]
            steps, values = (logged[name].to_numpy() for name in ("step", "value"))
            drawn: dict[str, Any] = {"color": look.colour, "linestyle": look.dashes, "linewidth": 1.4}
            if statistic == CIDER:
                if len(values):
                    # Values are times 100, as in all tables.
                    axis.plot(steps, 100 * values, marker=look.marker, markersize=3.5, label=label, **drawn)
                continue
            if not len(values):
                raise ValueError(f"{logs[label]}: this training logged no {statistic!r}")
            axis.plot(steps, values, color=look.colour, alpha=0.35, linewidth=0.6)
            axis.plot(steps, smoothed(values), label=label, **drawn)
        axis.set_title(title)
    figure.supxlabel("updates (line: mean over a tenth of them)")
    legend(figure, style, *axes[0].get_legend_handles_labels())
    return figure


def smoothed(values: np.ndarray) -> np.ndarray:
    """Return the running mean (N,) of values (N,). The window is a tenth of the values, and shorter at the ends."""
    window = np.ones(2 * (len(values) // (2 * PARTS)) + 1)
    return np.convolve(values, window, "same") / np.convolve(np.ones(len(values)), window, "same")


def examples(
    screens: Sequence[Row], answers: Sequence[Row], people: str, parents: Mapping[str, str], number: int = EXAMPLES
) -> list[dict[str, Any]]:
    """Return sets of images that are found by a finetuned caption only, the clearest first (section 5, Figure 2).

    Answers to controls and answers of excluded participants are ignored. `people` is the type of human captions;
    `parents` maps each finetuned type to the type of its parent. A caption finds its set if more than half of its
    answers are right, and does not find it if fewer are. A set is returned if the finetuned caption finds it, and
    neither the human nor the parent's caption does. Ties are left out. Sets in which two captions have the same words
    are left out too, since their answers differ by chance.

    Each example has `target`, `captions` (type -> caption, the human caption first and the finetuned one last),
    `answers` and `right` (type -> number of answers, and of right answers), and `chosen`, the wrong image that was
    chosen most often for the human caption. Sets are sorted by how far the share of right answers to the finetuned
    caption exceeds the next largest share, then by the number of answers.
    """
    by_set: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        if answer["role"] == "question" and not answer["excluded"]:
            by_set[answer["stimulus"]][answer["caption_type"]].append(answer)
    shown = {(screen["stimulus"], screen["caption_type"]): screen for screen in screens}
    found = []
    for (stimulus, by_type), (finetuned, parent) in product(by_set.items(), parents.items()):
        types = (people, parent, finetuned)
        if not {*types} <= by_type.keys():
            continue
        right = {name: sum(a["correct"] for a in by_type[name]) for name in types}
        given = {name: len(by_type[name]) for name in types}
        *others, best = (right[name] / given[name] for name in types)
        captions = {name: shown[stimulus, name]["caption"] for name in types}
        if best <= 0.5 or max(others) >= 0.5 or len(set(captions.values())) < len(types):
            continue
        wrong = Counter(a["chosen"] for a in by_type[people] if not a["correct"]).most_common(1)[0][0]
        example = {"target": shown[stimulus, people]["target"], "chosen": wrong, "captions": captions}
        rank = (max(others) - best, -sum(given.values()), stimulus, finetuned)
        found.append((rank, {**example, "answers": given, "right": right}))
    return [example for _, example in sorted(found, key=lambda pair: pair[0])[:number]]


def draw_examples(
    chosen: Sequence[Given], images: pa.Table, labels: Mapping[str, str], simulated: bool, style: Style, width: float
) -> Figure:
    """Draw Figure 2: pairs of images, the target in a green frame beside the image chosen for the human caption.

    The captions stand below. `images` has the columns image_id and PLACE. `labels` maps a type of captions to the
    paper's label.
    """
    photos = _photos(images, {image for example in chosen for image in (example["target"], example["chosen"])})
    board, size = Board(width), style.small_size
    columns = 3 if width > 5 else 2
    across = (width - GAP) / columns - GAP
    types = list(dict.fromkeys(name for example in chosen for name in example["captions"]))
    short = {name: labels.get(name, name)[:1].upper() for name in types}
    if len({*short.values()}) < len(types):
        short = {name: labels.get(name, name) for name in types}
    bottom = GAP / 2
    for first in range(0, len(chosen), columns):
        top = bottom
        for column, example in enumerate(chosen[first : first + columns]):
            x, letter = GAP + column * (across + GAP), ascii_lowercase[first + column]
            human, *_ = example["captions"]
            side = (across - GAP / 2) / 2
            heads = (
                (example["target"], f"({letter}) target", RIGHT),
                (example["chosen"], f"choice by {short[human]}", None),
            )
            for place, (image, head, frame) in enumerate(heads):
                left = x + place * (side + GAP / 2)
                y = board.write(words(head), left, top, side, size)
                y = board.picture(photos[image], left, y, side, frame)
            y += GAP / 2
            for name, caption in example["captions"].items():
                right = f"({example['right'][name]} of {example['answers'][name]} right)"
                said = words(shorten(caption, SHOWN, placeholder=" …"))
                y = board.write([*words(f"{short[name]}:", BOLD), *said, (right, GREY)], x, y, across, size)
            bottom = max(bottom, y + GAP)
    who = "simulated participants, driven by a retriever" if simulated else "people"
    notes = [f"{letter}: {labels.get(name, name)}" for name, letter in short.items()]
    said = words(f"{'; '.join(notes)}. Answers are those of {who}.")
    if not chosen:
        said = words(f"In no set of images is the target found by the finetuned caption only: answers of {who}.")
    return board.finish(board.write(said, GAP, bottom, width - 2 * GAP, size) + GAP / 2)


def draw_screen(screen: Row, images: pa.Table, style: Style, width: float) -> Figure:
    """Draw Figure 3: a screen as participants see it, with the caption above two rows of five images."""
    photos, board, size = _photos(images, {*screen["images"]}), Board(width), style.font_size
    side = (width - GAP) / COLUMNS - GAP
    bottom = board.write(words(quoted(screen["caption"])), GAP, GAP, width - 2 * GAP, size) + GAP / 2
    for place, image in enumerate(screen["images"]):
        row, column = divmod(place, COLUMNS)
        board.picture(photos[image], GAP + column * (side + GAP), bottom + row * (side + GAP), side)
    return board.finish(bottom + (side + GAP) * (len(screen["images"]) // COLUMNS))


def _photos(images: pa.Table, wanted: set[str]) -> dict[str, bytes]:
    names = {file_name(image): image for image in wanted}
    table = images.filter(pc.is_in(images["image_id"], pa.array(sorted(wanted), pa.string())))
    return {names[name]: content for name, content in pictures(table)}
