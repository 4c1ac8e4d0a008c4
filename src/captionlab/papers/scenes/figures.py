"""All figures: captions, captions of ablated images and their confidence, probes of scenes, and attention."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from scipy.stats import gaussian_kde

from captionlab.ablation.comparison import Pair, changed, pairs
from captionlab.attention.density import REACH
from captionlab.attention.schemas import BLOCKS, DENSITIES
from captionlab.config.roles import FINETUNED, PRETRAINED, ROLES
from captionlab.papers.scenes.attention import ATTENTION, SPECIAL, drawing_tokens
from captionlab.papers.scenes.captions import Change, Examples
from captionlab.papers.scenes.pages import Pages, read_run
from captionlab.papers.scenes.probes import FOREST, PROBING, RANDOM, split_name
from captionlab.papers.scenes.values import ScenesRun
from captionlab.reporting.claims.reading import read_by, read_rows
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.boards import BOLD, GREY, MARKED, PLAIN, Board, Word, words
from captionlab.reporting.tables.figures import FAINT, Draw, Look, Style, bars, legend, looks, panels, side_by_side

# Larger side of a picture on a page and in a column, and space on a board, in inches.
PICTURE, SMALL, GAP = 1.6, 1.0, 0.1
Pairs = Mapping[str, Sequence[Pair]]
# Names of positions, and the attention (S, S).
Matrix = tuple[list[str], np.ndarray]
# Shares of a density that contours enclose.
ENCLOSED = (0.25, 0.5, 0.75, 0.95)
END = "[SEP]"
# Frames in a matrix: the three sub-blocks (query-key), and the attention to the end token between them.
FRAMES = ("vision-vision", "label-vision", "vision-label", f"attention to {END}")
# Largest number of positions whose names can be printed in legible letters beside a matrix.
NAMED = 26


def drawings(inputs: Row, params: Row, style: Style) -> dict[str, Draw]:
    """Return every figure of the paper, as functions of the width in inches."""
    scenes, pages, job = read_run(inputs, params), Pages(inputs, params), params["job"]
    matrices, blocks = pages.matrices, read_by(ROLES, inputs["blocks"], BLOCKS)
    densities, relations = read_rows(inputs["densities"], DENSITIES), scenes.found("source", ATTENTION)
    before_and_after = {role: pairs(rows) for role, rows in pages.captions.items()}
    images, shares = pages.probed.scenes, scenes.found("level", PROBING)
    of = looks(style, ROLES)
    made: dict[str, Draw] = {
        "figure2_captions": partial(draw_captions, pages.examples[0], pages.pictures, style),
        "figure3_attention": partial(draw_matrices, matrices, pages.attended, [job["layer"]], style),
        "figure4_attention_density": partial(draw_density, densities, blocks, relations, of, style),
        "figure5_examples": partial(draw_changes, pages.changes, pages.pictures, pages.objects, style),
        "figure6_confidence": partial(draw_confidence, before_and_after, job["split"], of),
        "figure8_classes": partial(draw_classes, images, style),
        "figure9_probes": partial(draw_probes, scenes, images, max(shares, default=None), of, style),
        "figure10_special_tokens": partial(draw_special_tokens, scenes, style),
        "figure11_layers": partial(draw_matrices, matrices, pages.attended, _layers(matrices), style),
        "figure12_splits": partial(draw_splits, before_and_after, job["split"], style),
        "figure13_probes": partial(draw_probes, scenes, images, min(shares, default=None), of, style),
    }
    return {f"scenes_{name}": draw for name, draw in made.items()}


# ------------------------------------------------------------------------------------------------------ captions
def draw_captions(examples: Examples, pictures: Mapping[str, bytes], style: Style, width: float) -> Figure:
    """Draw Figure 2: an image, human captions of its objects and scene, and captions before and after finetuning."""
    rows = []
    for one in examples:
        said = {
            "objects, by people": one.objects, "before finetuning": one.before or "",
            "scene, by people": one.scene, "after finetuning": one.after or "",
        }  # fmt: skip
        rows.append((one.image, [[*words(f"{who}:", BOLD), *words(text)] for who, text in said.items()]))
    nothing = [("", [words("no image whose attention is drawn is described by people")])]
    return _beside(rows or nothing, pictures, style, width)


def draw_changes(
    changes: Sequence[Change], pictures: Mapping[str, bytes], objects: int, style: Style, width: float
) -> Figure:
    """Draw Figure 5: images whose scene caption changes when diagnostic objects are removed, with changed words marked.

    `objects` is the number of removed objects; `pictures` are PNGs by image.
    """
    rows = []
    for one in changes:
        lines = [[*words(one.scene, BOLD), *words(f"without {one.removed}", GREY)]]
        for role, (before, after) in one.captions.items():
            old, new = (
                compared_words(before, after) if changed(before, after) else (words(before), words("the same", GREY))
            )
            lines += [[*words(f"{role}:", BOLD), *old], [("→", BOLD), *new]]
        rows.append((one.image, lines))
    nothing = [("", [words(f"no scene caption changes without {objects} objects")])]
    return _beside(rows or nothing, pictures, style, width)


def compared_words(before: str, after: str) -> tuple[list[Word], list[Word]]:
    """Return the words of two captions, with words marked that the other caption does not have in their place."""
    sides = before.split(), after.split()
    same = SequenceMatcher(None, before.casefold().split(), after.casefold().split(), autojunk=False)
    kept: tuple[set[int], set[int]] = set(), set()
    for block in same.get_matching_blocks():
        for of, start in zip(kept, (block.a, block.b), strict=True):
            of.update(range(start, start + block.size))
    old, new = (
        [(word, PLAIN if place in of else MARKED) for place, word in enumerate(side)]
        for side, of in zip(sides, kept, strict=True)
    )
    return old, new


def _beside(
    rows: Sequence[tuple[str, Sequence[Sequence[Word]]]], pictures: Mapping[str, bytes], style: Style, width: float
) -> Figure:
    """Draw paragraphs in each row, with the picture of the row's image on their left if there is one."""
    board, side, bottom = Board(width), PICTURE if width > 5 else SMALL, GAP
    left = side + 2 * GAP if any(pictures.get(image) for image, _ in rows) else GAP
    for image, lines in rows:
        top = bottom
        if pictures.get(image):
            bottom = board.picture(pictures[image], GAP, top, side) + GAP
        for line in lines:
            top = board.write(line, left, top, width - left - GAP, style.small_size) + GAP / 3
        bottom = max(bottom, top + GAP)
    return board.finish(bottom)


# ---------------------------------------------------------------------------------------------------- confidence
def draw_confidence(pairs: Pairs, split: str, of: Mapping[str, Look], width: float) -> Figure:
    """Draw Figures 6 and 7: confidence of unchanged captions after ablation, and its shift."""
    figure, axes = plt.subplots(1, 2, figsize=(width, 2.6))
    shown = {
        "confidence after ablation": lambda p: p.after,
        "confidence before minus after": lambda p: p.before - p.after,
    }
    for axis, (label, measure) in zip(axes, shown.items(), strict=True):
        values = {
            role: [measure(p) for p in pairs[role] if not p.changed and p.split == split]
            for role in (FINETUNED, PRETRAINED)  # in the order of the paper
        }
        drawn = axis.boxplot(
            [*values.values()], widths=0.5, patch_artist=True, showmeans=True,
            medianprops={"color": "#222222"}, flierprops={"markersize": 2, "markeredgewidth": 0.5},
            meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "#222222", "markersize": 4},
        )  # fmt: skip
        for role, box, mean in zip(values, drawn["boxes"], drawn["means"], strict=True):
            box.set(facecolor=of[role].colour, alpha=0.75, hatch=of[role].hatch)
            mean.set_label("mean")
        axis.set_xticks(range(1, len(values) + 1), [f"{role}\n(n = {len(found)})" for role, found in values.items()])
        axis.set_ylabel(label)
    axes[1].axhline(0, **FAINT)
    return figure


def draw_splits(pairs: Pairs, split: str, style: Style, width: float) -> Figure:
    """Draw Figure 12: densities of the confidence of unchanged captions on the test split and on all other splits."""
    figure, axes = panels(len(ROLES), width, 2.2, 2.5, sharex=True, sharey=True)
    for axis, role in zip(axes, ROLES, strict=True):
        for (label, look), chosen in zip(
            looks(style, ("test", "train-val"), "kinds").items(), (True, False), strict=True
        ):
            values = [p.after for p in pairs[role] if not p.changed and (p.split == split) == chosen]
            drawn: dict[str, Any] = {"color": look.colour, "linestyle": look.dashes}
            drawn["label"] = f"{label} (n = {len(values)})"
            if len({*values}) < 2:  # one value has no density: only the label is drawn
                axis.plot([], [], **drawn)
                continue
            density = gaussian_kde(values)
            reach = REACH * float(density.covariance[0, 0]) ** 0.5
            places = np.linspace(min(values) - reach, max(values) + reach, 100)
            axis.plot(places, density(places), **drawn)
            axis.fill_between(places, density(places), color=look.colour, alpha=0.15, linewidth=0)
        axis.set(title=role, xlabel="confidence after ablation", ylabel="density")
        axis.xaxis.set_major_locator(MaxNLocator(5, prune="both"))  # no number beyond the edge of the figure
        axis.label_outer()
        axis.legend(loc="upper left")
    axes[0].set_ylim(0, None)  # set after everything is drawn, since all panels share the axis
    return figure


# -------------------------------------------------------------------------------------------------------- probes
def draw_classes(images: Mapping[str, int], style: Style, width: float) -> Figure:
    """Draw Figure 8: the number of probed images of each scene. `images` maps a scene to its number."""
    figure, axis = plt.subplots(figsize=(width, 2.3))
    scenes = _name_scenes(axis, images)
    numbers = [images[scene] for scene in scenes]
    drawn = axis.bar(range(len(scenes)), numbers, color=style.kinds[0], width=0.6, label="probed")
    axis.bar_label(drawn, fontsize=style.small_size)
    axis.margins(y=0.1)  # room for the numbers
    axis.set_ylabel("images")
    return figure


def draw_probes(
    run: ScenesRun, images: Mapping[str, int], share: float | None, of: Mapping[str, Look], style: Style, width: float
) -> Figure:
    """Draw Figures 9 and 13: F1 of each scene on a split, by the random forest before and after, and by guessing."""
    figure, axis = plt.subplots(figsize=(width, 2.5))
    scenes = _name_scenes(axis, images)
    guessing = Look("#bbbbbb", "", (0, ()), ".....")
    drawn = (PRETRAINED, FOREST, PRETRAINED, of[PRETRAINED]), (FINETUNED, FOREST, FINETUNED, of[FINETUNED])
    every = *drawn, (RANDOM, RANDOM, PRETRAINED, guessing)
    for (label, probe, role, look), shift in zip(every, side_by_side(len(every)), strict=True):
        places = [run.place(PROBING, role, f"F1 of {scene}", source=probe, level=share) for scene in scenes]
        points = {x + shift: run.value(place) for x, place in enumerate(places)}
        bars(axis, points, 0.25, label, look)
    axis.set(ylim=(0, 1.05), ylabel="F1" if share is None else f"F1, split {split_name(share)}")
    legend(figure, style, *axis.get_legend_handles_labels())
    return figure


def _name_scenes(axis: Axes, images: Mapping[str, int]) -> list[str]:
    """Label the axis with the scenes, by falling number of images, and return them."""
    scenes = sorted(images, key=lambda scene: (-images[scene], scene))
    axis.set_xticks(range(len(scenes)), scenes, rotation=30, ha="right", rotation_mode="anchor")
    return scenes


# ----------------------------------------------------------------------------------------------------- attention
def draw_density(
    densities: Sequence[Row],
    blocks: Mapping[str, Sequence[Row]],
    relations: Sequence[str],
    of: Mapping[str, Look],
    style: Style,
    width: float,
) -> Figure:
    """Draw Figure 4: contours of the density of deviation and mass, and a point for each image, a panel per relation.

    `densities` are rows of DENSITIES; `blocks` are rows of BLOCKS by role.
    """
    figure, axes = panels(len(relations), width, 1.9, min(2.5, width / 2))
    for axis, (relation, role) in zip(np.repeat(axes, len(ROLES)), product(relations, ROLES), strict=True):
        points = [(b["deviation"], b["mass"]) for b in blocks[role] if b["relation"] == relation]
        look = of[role]
        drawn = {"marker": look.marker, "color": look.colour, "alpha": 0.45, "linewidths": 0}
        axis.scatter(*zip(*points, strict=True), s=6, label=role, **drawn)
        grid = {
            (row["mass"], row["deviation"]): row["enclosed"]
            for row in densities
            if (row["captioner"], row["relation"]) == (role, relation)
        }
        masses, deviations = (sorted({*places}) for places in zip(*grid, strict=True))
        enclosed = [[grid.get((mass, deviation), 1.0) for deviation in deviations] for mass in masses]
        lines = axis.contour(deviations, masses, enclosed, levels=ENCLOSED, colors=[look.colour], linewidths=0.9)
        lines.set_linestyle(look.dashes)
        # Neither value can be below 0, where the kernels of points near 0 reach.
        axis.set(xlim=(0, None), ylim=(0, None), title="all the relations" if relation == "all" else relation)
    keys = [
        Line2D([], [], color=of[r].colour, marker=of[r].marker, linestyle=of[r].dashes, markersize=4) for r in ROLES
    ]
    legend(figure, style, keys, ROLES)
    figure.supxlabel("standard deviation of the attention")
    figure.supylabel("attention mass")
    return figure


def draw_special_tokens(run: ScenesRun, style: Style, width: float) -> Figure:
    """Draw Figure 10: the share of the attention to special tokens, by layer and by kind of attending positions.

    A token that receives no attention, such as masked padding, has no panel. A line below the figure says so.
    """
    targets = drawing_tokens(run)
    shape = (len(ROLES), max(1, len(targets))) if width > 5 else (len(ROLES) * max(1, len(targets)), 1)
    figure, axes = plt.subplots(*shape, figsize=(width, 1.7 * shape[0]), squeeze=False, sharex=True, sharey=True)
    of, ends = looks(style, run.found("source", SPECIAL), "kinds"), []
    for axis, (role, target) in zip(axes.flat, product(ROLES, targets), strict=False):
        for attending, look in of.items():
            layers = sorted(run.found("level", SPECIAL, subject=role, source=attending))
            values = [run.value(run.place(SPECIAL, role, target, source=attending, level=at)) for at in layers]
            shares = [np.nan if value is None else 100 * value.value for value in values]
            drawn = {"color": look.colour, "marker": look.marker, "linestyle": look.dashes}
            axis.plot(layers, shares, markersize=3.5, label=f"from {attending}", **drawn)
            if layers and not np.isnan(shares[-1]):
                ends.append((axis, attending, layers[-1], shares[-1], look.colour))
            axis.set_xticks(layers, [f"{layer:g}" for layer in layers])
        axis.set_title(f"{role}: {target}")
    axes[0, 0].set_ylim(0, None)  # set after everything is drawn, since all panels share the axis
    left_out = [target for target in run.found("measure", SPECIAL) if target not in targets]
    figure.supxlabel(f"layer (nothing attends to {', '.join(left_out)})" if left_out else "layer")
    figure.supylabel("share of the attention (%)")
    _name_ends(figure, ends, style)
    return figure


def _name_ends(figure: Figure, ends: Sequence[tuple[Axes, str, float, float, str]], style: Style) -> None:
    """Write the names of lines at their ends, spaced so that they can be read."""
    figure.draw_without_rendering()
    apart = 1.2 * style.small_size
    for axis in dict.fromkeys(end[0] for end in ends):
        high = axis.get_window_extent().height * 72 / figure.dpi
        bottom, top = axis.get_ylim()
        below = 0.5 * style.small_size - apart  # the first name stands above the axis
        for _, name, x, y, colour in sorted((end for end in ends if end[0] is axis), key=lambda end: end[3]):
            place = (y - bottom) / (top - bottom) * high
            below = max(place, below + apart)
            axis.annotate(
                name, (x, y), (5, below - place), textcoords="offset points", va="center", color=colour,
                fontsize=style.small_size,
            )  # fmt: skip


def _layers(matrices: Mapping[str, Sequence[Row]]) -> list[int]:
    return sorted({row["layer"] for rows in matrices.values() for row in rows})


def draw_matrices(
    matrices: Mapping[str, Sequence[Row]], image: str | None, layers: Sequence[int], style: Style, width: float
) -> Figure:
    """Draw Figures 3 and 11: attention matrices of an image before and after, in layers, from rows of MATRICES by role.

    Rows of a matrix are queries, columns are keys.
    """
    shown = {
        (role, row["layer"]): (row["positions"], np.array(row["attention"]).reshape(len(row["positions"]), -1))
        for role, rows in matrices.items()
        for row in rows
        if row["image_id"] == image and row["layer"] in layers
    }
    named = len(layers) == 1
    if width > 5:
        places, columns = [*product(ROLES, layers)], len(ROLES) if named else len(layers)
    else:
        places, columns = [(role, layer) for layer in layers for role in ROLES], 1 if named else len(ROLES)
    side = width / max(1, columns)
    rows = max(1, len(places) // max(1, columns))
    figure, axes = panels(max(1, len(places)), width, 0.85 * side + 1.2 / rows, side)
    for axis in axes:
        axis.set_axis_off()
    top = max((float(values.max()) for _, values in shown.values()), default=1.0)
    for axis, (role, layer) in zip(axes, places, strict=False):
        if (role, layer) in shown:
            axis.set_axis_on()
            _draw(axis, shown[role, layer], top, named, style)
            axis.set_title(f"{role}, layer {layer}")
            axis.set(xlabel="key", ylabel="query")
            axis.label_outer()
    if shown:
        bar = figure.colorbar(axes[0].get_images()[0], ax=axes, location="bottom", shrink=0.6, aspect=40)
        bar.set_label(f"attention (maximum over heads), image {image}", fontsize=style.small_size)
    of = looks(style, FRAMES, "kinds")
    keys = [Line2D([], [], color=look.colour, linestyle=look.dashes, linewidth=1.6) for look in of.values()]
    legend(figure, style, keys, FRAMES)
    return figure


def _draw(axis: Axes, matrix: Matrix, top: float, named: bool, style: Style) -> None:
    """Draw an attention matrix on a scale up to `top`, with frames around its sub-blocks.

    If `named`, and if there is room, every position has its name.
    """
    names, values = matrix
    axis.imshow(values, vmin=0, vmax=top, cmap="Greys", interpolation="nearest")
    # Word pieces of the tags, then the end token, then regions.
    tags = names.index(END) if END in names else 0
    first = tags + (END in names)
    regions = len(names) - first
    blocks = [(first, first, regions, regions), (first, 0, regions, tags), (0, first, tags, regions)]
    blocks += [(tags, 0, 1, len(names))] if END in names else []
    for look, (x, y, width, height) in zip(looks(style, FRAMES, "kinds").values(), blocks, strict=False):
        inner = (x - 0.42, y - 0.42), width - 0.16, height - 0.16  # frames stand beside each other, not on each other
        frame = Rectangle(*inner, fill=False, linewidth=1.6, clip_on=False)
        frame.set(edgecolor=look.colour, linestyle=look.dashes)
        axis.add_patch(frame)
    labels: dict[float, str] = {(tags - 1) / 2: "tags", tags: END, (first + len(names) - 1) / 2: "regions"}
    if named and len(names) <= NAMED:
        labels = {place: f"region {name}" if place >= first else name for place, name in enumerate(names)}
    axis.set_xticks([*labels], [*labels.values()], rotation=90)
    axis.set_yticks([*labels], [*labels.values()])
    axis.tick_params(length=1.5, pad=1.5)
    axis.spines[:].set_visible(True)
