"""Figures 3, 4, 10 and 11: what tags and regions attend to, before and after finetuning."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from captionlab.papers.scenes.attention import SPECIAL, drawing_tokens
from captionlab.papers.scenes.run import Row, ScenesRun
from captionlab.reporting.figures import Style, colour_of, save
from captionlab.roles import ROLES

# Names of positions, and the attention (S, S).
Matrix = tuple[list[str], np.ndarray]
# Contours that enclose so much of a density.
ENCLOSED = (0.25, 0.5, 0.75, 0.95)
END = "[SEP]"
# The colour of the frame around each sub-block.
FRAMES = {"vision-vision": 2, "label-vision": 5, "vision-label": 3}


def plot_matrices(matrices: Mapping[str, Sequence[Row]], layer: int, style: Style, path: str) -> None:
    """Figure 3: the attention matrix of the first example in a layer, before and after; rows of MATRICES by role."""
    image, of_image = _first_image(matrices)
    shown = {role: of_image[role, layer] for role in ROLES if (role, layer) in of_image}
    figure, axes = plt.subplots(1, len(ROLES), figsize=(7.5, 4.0))
    for axis, role in zip(axes, ROLES, strict=True):
        axis.set_title(role)
        _draw(axis, shown.get(role), _top(shown.values()), style, ticks=True)
    _explain(figure, axes, style)
    figure.supxlabel(f"key (image {image}, layer {layer})")
    figure.supylabel("query")
    save(figure, path, style)


def plot_layers(matrices: Mapping[str, Sequence[Row]], style: Style, path: str) -> None:
    """Figure 11: the matrix of the same image in the first layer, one halfway up, and the last."""
    _, of_image = _first_image(matrices)
    layers = sorted({row["layer"] for rows in matrices.values() for row in rows})
    shape = len(ROLES), max(1, len(layers))
    figure, axes = plt.subplots(*shape, figsize=(7.5, 5.4), squeeze=False)
    for line, role in zip(axes, ROLES, strict=True):
        for axis, layer in zip(line, layers, strict=False):
            _draw(axis, of_image.get((role, layer)), _top(of_image.values()), style, ticks=False)
            axis.set_title(f"{role}, layer {layer}")
    _explain(figure, axes, style)
    save(figure, path, style)


def plot_density(
    densities: Sequence[Row], blocks: Mapping[str, Sequence[Row]], relations: Sequence[str], style: Style, path: str
) -> None:
    """Figure 4: contours of the density of deviation and mass, a panel for each relation, and a point for each image.

    densities: rows of DENSITIES; blocks: rows of BLOCKS by role.
    """
    columns = 2
    lines = -(-len(relations) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(7.5, 2.9 * lines), squeeze=False)
    for axis in axes.flat[len(relations) :]:
        axis.set_axis_off()
    for axis, relation in zip(axes.flat, relations, strict=False):
        for index, role in enumerate(ROLES):
            points = [(b["deviation"], b["mass"]) for b in blocks[role] if b["relation"] == relation]
            colour = colour_of(style, 1 + 2 * index)
            axis.scatter(*zip(*points, strict=True), s=4, color=colour, alpha=0.4, linewidths=0)
            rows = [r for r in densities if (r["captioner"], r["relation"]) == (role, relation)]
            _contours(axis, rows, colour)
        # Neither is below 0, where the kernels of points near it reach.
        axis.set(xlim=(0, None), ylim=(0, None), title="all the relations" if relation == "all" else relation)
        axis.set(xlabel="standard deviation", ylabel="attention mass")
    handles = [Line2D([], [], color=colour_of(style, 1 + 2 * index)) for index in range(len(ROLES))]
    figure.legend(handles, ROLES, loc="outside upper center", ncols=2)
    save(figure, path, style)


def plot_special_tokens(run: ScenesRun, style: Style, path: str) -> None:
    """Figure 10: the share of the attention that special tokens draw, by layer and by what attends.

    A token that nothing attends to, as padding that is masked, has no panel; a line below says so.
    """
    targets = drawing_tokens(run)
    shape = len(ROLES), max(1, len(targets))
    figure, axes = plt.subplots(*shape, figsize=(7.5, 4.6), squeeze=False, sharex=True, sharey=True)
    for line, role in zip(axes, ROLES, strict=True):
        for axis, target in zip(line, targets, strict=False):
            for index, attending in enumerate(run.found("source", SPECIAL, subject=role)):
                layers = sorted(run.found("level", SPECIAL, subject=role, source=attending))
                places = [run.place(SPECIAL, role, target, source=attending, level=at) for at in layers]
                values = [run.value(place) for place in places]
                shares = [np.nan if value is None else 100 * value.value for value in values]
                axis.plot(layers, shares, "o-", markersize=3, color=colour_of(style, index), label=attending)
            axis.set_xticks(layers, [f"{layer:g}" for layer in layers])
            axis.set_title(f"{role}: {target}")
    axes[0, 0].set_ylim(0, None)  # shared by all, so not before everything is drawn
    left_out = [target for target in run.found("measure", SPECIAL) if target not in targets]
    none = f" (nothing attends to {', '.join(left_out)})" if left_out else ""
    figure.supxlabel(f"layer{none}")
    figure.supylabel("share of the attention (%)")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    save(figure, path, style)


def _first_image(matrices: Mapping[str, Sequence[Row]]) -> tuple[str | None, dict[tuple[str, int], Matrix]]:
    """The first image, and its matrices by role and layer."""
    image = next((row["image_id"] for rows in matrices.values() for row in rows), None)
    return image, {
        (role, row["layer"]): (row["positions"], np.array(row["attention"]).reshape(len(row["positions"]), -1))
        for role, rows in matrices.items()
        for row in rows
        if row["image_id"] == image
    }


def _top(matrices: Iterable[Matrix]) -> float:
    return max((float(values.max()) for _, values in matrices), default=1.0)


def _draw(axis: Axes, matrix: Matrix | None, top: float, style: Style, ticks: bool) -> None:
    """A matrix with frames around its sub-blocks; nothing where there is none."""
    if matrix is None:
        axis.set_axis_off()
        return
    names, values = matrix
    axis.imshow(values, vmin=0, vmax=top, cmap="viridis", interpolation="nearest")
    # Word pieces of the tags, then the end token, then regions.
    tags = names.index(END) if END in names else 0
    first = tags + (END in names)
    regions = len(names) - first
    frames = {
        "vision-vision": (first, first, regions, regions),
        "label-vision": (first, 0, regions, tags),
        "vision-label": (0, first, tags, regions),
    }
    for name, (x, y, width, height) in frames.items():
        frame = Rectangle((x - 0.5, y - 0.5), width, height, fill=False, linewidth=1.6, clip_on=False)
        frame.set_edgecolor(colour_of(style, FRAMES[name]))
        axis.add_patch(frame)
    if not ticks:
        axis.set(xticks=[], yticks=[])
        return
    shown = range(len(names))
    labels = [f"region {name}" if place >= first else name for place, name in enumerate(names)]
    axis.set_xticks(shown, labels, rotation=90, fontsize="x-small")
    axis.set_yticks(shown, labels, fontsize="x-small")


def _explain(figure: Any, axes: np.ndarray, style: Style) -> None:
    """What the colours of values and of frames mean."""
    if pictures := [picture for axis in axes.flat for picture in axis.get_images()]:
        figure.colorbar(pictures[0], ax=axes, shrink=0.8, label="attention (maximum over heads)")
    handles = [Line2D([], [], color=colour_of(style, index)) for index in FRAMES.values()]
    figure.legend(handles, list(FRAMES), loc="outside upper center", ncols=3)


def _contours(axis: Axes, rows: Sequence[Row], colour: str) -> None:
    """Lines that enclose shares of a density."""
    deviations, masses = (sorted({row[name] for row in rows}) for name in ("deviation", "mass"))
    places = [{value: place for place, value in enumerate(values)} for values in (deviations, masses)]
    enclosed = np.ones((len(masses), len(deviations)))
    for row in rows:
        enclosed[places[1][row["mass"]], places[0][row["deviation"]]] = row["enclosed"]
    axis.contour(deviations, masses, enclosed, levels=ENCLOSED, colors=[colour], linewidths=0.9)
