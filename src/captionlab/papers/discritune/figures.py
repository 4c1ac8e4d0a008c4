"""Figures: retrieval by corpus, how finetuning went, and of the study examples (Figure 2) and a screen (Figure 3)."""

import io
import textwrap
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from PIL import Image

from captionlab.groups import read_chosen
from captionlab.places import PLACE
from captionlab.reporting.figures import ABOVE, Style, colour_of, line, look, save
from captionlab.reporting.published import read_published
from captionlab.reporting.reading import read_by, read_rows
from captionlab.reporting.reproduction import Reproduction, in_order
from captionlab.reporting.runs import Place, Row
from captionlab.schemas import IMAGES, SUMMARY, TRAINING
from captionlab.study.pages import file_name, pictures
from captionlab.study.psychopy import COLUMNS, quoted
from captionlab.study.responses import SIMULATED
from captionlab.study.schemas import ANSWERS, STIMULI
from captionlab.tables import read_table

Given = Mapping[str, Any]
# The name that the validation of a training gives its CIDEr.
CIDER = "validation_cider"
EXAMPLES = 6
RIGHT = "#2f7d32"


def plot(inputs: Given, params: Given, style: Style, paths: Mapping[str, str]) -> None:
    """Those that the config asks for."""
    with plt.rc_context(look(style)):
        if params["config"]:
            published = read_published(inputs["published"])
            order = {"captioners": published.rows("1"), "corpora": published.columns("1")}
            plot_retrieval(inputs["summary"], params["config"], order, style, paths["discritune_retrieval"])
            plot_finetuning(inputs["training"], params["finetuned"], style, paths["discritune_finetuning"])
        if "stimuli" not in inputs:
            return
        screens, people = read_rows(inputs["stimuli"], STIMULI), params["people"]
        shown = {image for screen in screens for image in screen["images"]}
        images = read_chosen(inputs["images"], IMAGES, ["image_id", *PLACE], shown)
        for who, answers in read_by(params["participants"], inputs["answers"], ANSWERS).items():
            chosen = examples(screens, answers, people, params["parents"])
            plot_examples(chosen, images, who == SIMULATED, style, paths[f"discritune_figure2_{who}"])
        questions = (row for row in screens if row["role"] == "question" and row["caption_type"] == people)
        plot_screen(next(questions), images, style, paths["discritune_figure3_screen"])


def plot_retrieval(
    summary: str, block: Mapping[str, Any], published: Mapping[str, Sequence[str]], style: Style, path: str
) -> None:
    """P@1 of each captioner on each corpus with its interval, a panel for each retriever.

    `summary` is a SUMMARY table; `block` has `captioners` and `corpora` (label -> name in the config) and perhaps
    `retrievers` and `evaluations`. `published` has the labels in the paper's order.
    """
    paper, rows = Reproduction(block), read_rows(summary, SUMMARY)
    # Among drawn candidates; a whole test set is another question.
    run = paper.run(row for row in rows if not str(row["candidates"]).startswith("full"))
    retrievers, captioners = paper.retrievers_of(run), in_order(paper.captioners, published["captioners"])
    corpora: dict[str, str] = {}
    for label in in_order(paper.corpora, published["corpora"]):  # Tables 1 and 3 call one corpus by two labels
        corpora.setdefault(paper.corpora[label], label)
    figure, axes = plt.subplots(len(retrievers), 1, figsize=(7.5, 2.6 * len(retrievers)), sharex=True, squeeze=False)
    for axis, retriever in zip(axes[:, 0], retrievers, strict=True):
        for index, label in enumerate(captioners):
            shift = (index - (len(captioners) - 1) / 2) * 0.13
            places = [Place(paper.captioners[label], name, "P@1", retriever) for name in corpora]
            points = {x + shift: run.value(place) for x, place in enumerate(places)}
            line(axis, points, label, colour_of(style, index), fmt="o", markersize=4, linewidth=1.5)
        axis.set(ylabel=f"P@1 by {retriever} (%)", ylim=(0, None))
    axes[-1, 0].set_xticks(range(len(corpora)), list(corpora.values()), rotation=15)
    axes[0, 0].legend(ncols=3, **ABOVE)
    save(figure, path, style)


def plot_finetuning(logs: Sequence[str], names: Sequence[str], style: Style, path: str) -> None:
    """Curves of finetuning, a line for each captioner: reward, P@1 in the batch, CIDEr, and length of the captions.

    `logs` are TRAINING tables in the order of `names`. CIDEr is that of the validation, where captioners have one.
    """
    statistics = {"reward": "reward", "accuracy": "P@1 in the batch", "caption_length": "tokens of a caption"}
    tables = [read_table(log, TRAINING) for log in logs]
    if any(CIDER in table["statistic"].to_pylist() for table in tables):
        statistics = {**statistics, CIDER: "CIDEr on validation images"}
    figure, axes = plt.subplots(1, len(statistics), figsize=(2.5 * len(statistics), 2.6), squeeze=False)
    for index, (log, name, table) in enumerate(zip(logs, names, tables, strict=True)):
        for axis, statistic in zip(axes[0], statistics, strict=True):
            values = table.filter(pc.equal(table["statistic"], statistic))
            if not values.num_rows and statistic != CIDER:
                raise ValueError(f"{log}: this training logged no {statistic!r}")
            scale, marker = (100, ".") if statistic == CIDER else (1, None)  # as in all tables
            drawn = {"color": colour_of(style, index), "label": name, "linewidth": 1.2, "marker": marker}
            axis.plot(values["step"], pc.multiply(values["value"], scale), **drawn)
    for axis, label in zip(axes[0], statistics.values(), strict=True):
        axis.set(xlabel="updates", title=label)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    save(figure, path, style)


def examples(
    screens: Sequence[Row], answers: Sequence[Row], people: str, parents: Mapping[str, str], number: int = EXAMPLES
) -> list[dict[str, Any]]:
    """Sets of images that are found by a finetuned caption only, the clearest first (section 5, figure 2).

    `people` is the type of human captions, `parents` has finetuned type -> that of its parent. A set is found by a
    caption when more than half of the answers to it are right, and not found when fewer are; here it is by the
    finetuned one, and neither by the human nor by the parent's. Of a tie either could be said, so such sets are left
    out; and so are those where two of the captions are the same words, as answers to these differ by chance. Each
    example has `target`, `captions` (type -> caption, the human one first and the finetuned one last), `answers` and
    `right` (type -> how many, and how many of them are right) and `chosen`, the wrong image that most answers to the
    human caption chose. Clear is a set by how much larger the share of right answers to the finetuned caption is than
    the next largest; of sets alike in this, by more answers.
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


def plot_examples(
    chosen: Sequence[Mapping[str, Any]], images: pa.Table, simulated: bool, style: Style, path: str
) -> None:
    """Each example: the target in a green frame, the image chosen by the human caption, and the three captions.

    `images` has the columns image_id and PLACE.
    """
    photos = _photos(images, {image for example in chosen for image in (example["target"], example["chosen"])})
    rows = max(1, -(-len(chosen) // 2))
    who = "simulated participants, driven by a retriever" if simulated else "people"
    figure, axes = plt.subplots(rows, 6, figsize=(11, 1.9 * rows + 0.5), squeeze=False, width_ratios=[1, 1, 2.2] * 2)
    figure.suptitle(f"Images that are found by the finetuned caption only: answers of {who}")
    for axis in axes.flat:
        axis.axis("off")
    if not chosen:
        axes[0, 0].text(0, 0.5, "In no set of images is the target found by the finetuned caption only.")
    for index, example in enumerate(chosen):
        target, other, text = axes[index // 2, 3 * (index % 2) : 3 * (index % 2) + 3]
        _photo(target, photos[example["target"]], RIGHT)
        _photo(other, photos[example["chosen"]], None)
        target.set_title("target", fontsize="small")
        other.set_title("by human caption", fontsize="small")
        lines = []
        for name, caption in example["captions"].items():
            shown = textwrap.wrap(textwrap.shorten(quoted(caption), 150, placeholder=" ..."), 40)
            lines += [f"{name} ({example['right'][name]} of {example['answers'][name]} right):", *shown]
        text.text(0, 1, "\n".join(lines), va="top", parse_math=False, fontsize=0.8 * style["font_size"])
    save(figure, path, style)


def plot_screen(screen: Row, images: pa.Table, style: Style, path: str) -> None:
    """A screen as participants see it: the caption above two rows of five images."""
    photos = _photos(images, set(screen["images"]))
    rows = len(screen["images"]) // COLUMNS
    figure, axes = plt.subplots(rows, COLUMNS, figsize=(8, 1.7 * rows + 0.5), squeeze=False)
    figure.suptitle(quoted(screen["caption"]), parse_math=False, wrap=True)
    for axis, image in zip(axes.flat, screen["images"], strict=True):
        _photo(axis, photos[image], None)
    save(figure, path, style)


def _photos(images: pa.Table, wanted: set[str]) -> dict[str, Image.Image]:
    names = {file_name(image): image for image in wanted}
    table = images.filter(pc.is_in(images["image_id"], pa.array(sorted(wanted), pa.string())))
    return {names[name]: Image.open(io.BytesIO(content)) for name, content in pictures(table)}


def _photo(axis: Axes, photo: Image.Image, frame: str | None) -> None:
    axis.imshow(photo)
    axis.axis("on")
    axis.set(xticks=[], yticks=[])
    for side in axis.spines.values():
        side.set(visible=frame is not None, color=frame, linewidth=3)
