"""All figures: captions, also without diagnostic objects, their confidence, probes of scenes, and attention."""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from PIL import Image
from scipy.stats import gaussian_kde

from captionlab.ablation.comparison import Pair, changed, pairs
from captionlab.attention.density import REACH
from captionlab.attention.schemas import BLOCKS, DENSITIES, MATRICES
from captionlab.papers.scenes.attention import ATTENTION, SPECIAL, drawing_tokens
from captionlab.papers.scenes.captions import Change, Examples
from captionlab.papers.scenes.pages import Pages, read_run
from captionlab.papers.scenes.probes import FOREST, PROBING, RANDOM, split_name
from captionlab.papers.scenes.run import ScenesRun
from captionlab.reporting.figures import ABOVE, Style, bars, colour_of, look, panels, save
from captionlab.reporting.reading import read_by, read_rows
from captionlab.reporting.runs import Row
from captionlab.roles import FINETUNED, PRETRAINED, ROLES

# Characters of a line beside a picture.
LINE = 58
# Inches: a picture, and a character of such a line.
PICTURE, CHARACTER = 1.7, 0.08
Pairs = Mapping[str, Sequence[Pair]]
# Names of positions, and the attention (S, S).
Matrix = tuple[list[str], np.ndarray]
# Contours that enclose so much of a density.
ENCLOSED = (0.25, 0.5, 0.75, 0.95)
END = "[SEP]"
# The colour of the frame around each sub-block.
FRAMES = {"vision-vision": 2, "label-vision": 5, "vision-label": 3}


def plot(inputs: Row, params: Row, style: Style, paths: Mapping[str, str]) -> None:
    """Every figure of the paper."""
    of = {name.removeprefix("scenes_"): path for name, path in paths.items()}
    scenes, pages, split = read_run(inputs, params), Pages(inputs, params), params["job"]["split"]
    matrices, blocks = read_by(ROLES, inputs["matrices"], MATRICES), read_by(ROLES, inputs["blocks"], BLOCKS)
    densities, relations = read_rows(inputs["densities"], DENSITIES), scenes.found("source", ATTENTION)
    before_and_after = {role: pairs(rows) for role, rows in pages.captions.items()}
    images, shares = pages.probed.scenes, scenes.found("level", PROBING)
    with plt.rc_context(look(style)):
        plot_captions(pages.examples[0], pages.pictures, style, of["figure2_captions"])
        plot_matrices(matrices, params["job"]["layer"], style, of["figure3_attention"])
        plot_density(densities, blocks, relations, style, of["figure4_attention_density"])
        plot_changes(pages.changes, pages.pictures, pages.objects, style, of["figure5_examples"])
        plot_confidence(before_and_after, split, False, style, of["figure6_confidence"])
        plot_confidence(before_and_after, split, True, style, of["figure7_confidence_shift"])
        plot_classes(images, style, of["figure8_classes"])
        plot_probes(scenes, images, max(shares, default=None), style, of["figure9_probes"])
        plot_special_tokens(scenes, style, of["figure10_special_tokens"])
        plot_layers(matrices, style, of["figure11_layers"])
        plot_splits(before_and_after, split, style, of["figure12_splits"])
        plot_probes(scenes, images, min(shares, default=None), style, of["figure13_probes"])


def plot_captions(examples: Examples, pictures: Mapping[str, bytes], style: Style, path: str) -> None:
    """Figure 2: an image, what people wrote of its objects and scene, and captions before and after finetuning."""
    texts = [
        f"objects, by people: {_short(one.objects)}\n    before finetuning: {_short(one.before or '')}\n"
        f"scene, by people: {_short(one.scene)}\n    after finetuning: {_short(one.after or '')}"
        for one in examples
    ]
    shown = [pictures.get(one.image, b"") for one in examples]
    _beside(shown or [b""], texts or ["no captioned image is described by people"], style, path)


def plot_changes(
    changes: Sequence[Change], pictures: Mapping[str, bytes], objects: int, style: Style, path: str
) -> None:
    """Figure 5: images whose scene caption changes without its diagnostic objects, so many. Pictures: PNGs by image."""
    texts = []
    for one in changes:
        lines = [f"{one.scene}, without {one.removed}"]
        for role, (before, after) in one.captions.items():
            lines.append(f"{role}: {_short(before)}")
            lines.append(f"    → {_short(after) if changed(before, after) else 'the same'}")
        texts.append("\n".join(lines))
    shown = [pictures.get(one.image, b"") for one in changes]
    _beside(shown or [b""], texts or [f"no scene caption changes without {objects} objects"], style, path)


def _beside(pictures: Sequence[bytes], texts: Sequence[str], style: Style, path: str) -> None:
    """A text in each row, with a picture on its left where there is one."""
    widths = [PICTURE, CHARACTER * max(len(line) for text in texts for line in text.split("\n"))]
    figure, axes = plt.subplots(
        len(texts), 2, figsize=(sum(widths), PICTURE * len(texts)), squeeze=False,
        gridspec_kw={"width_ratios": widths},
    )  # fmt: skip
    for axis in axes.flat:
        axis.set_axis_off()
    for (left, right), text, picture in zip(axes, texts, pictures, strict=True):
        if picture:
            left.imshow(Image.open(io.BytesIO(picture)))
        right.text(0, 0.5, text, va="center", linespacing=1.5)
    save(figure, path, style)


def plot_confidence(pairs: Pairs, split: str, shift: bool, style: Style, path: str) -> None:
    """Figure 6: confidence of unchanged captions after ablation; with `shift`, Figure 7: how far it moved."""
    figure, axis = plt.subplots(figsize=(4.2, 3.2))
    values = {
        role: [p.before - p.after if shift else p.after for p in pairs[role] if not p.changed and p.split == split]
        for role in (FINETUNED, PRETRAINED)  # in the order of the paper
    }
    drawn = axis.boxplot(
        [*values.values()], widths=0.5, patch_artist=True, showmeans=True, medianprops={"color": "#333333"},
        flierprops={"markersize": 2},
        meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "#333333", "markersize": 4},
    )  # fmt: skip
    for index, box in zip((3, 1), drawn["boxes"], strict=True):
        box.set_facecolor(colour_of(style, index))
        box.set_alpha(0.6)
    labels = [f"{role}\n(n = {len(of_role)})" for role, of_role in values.items()]
    axis.set_xticks(range(1, len(labels) + 1), labels)
    if shift:
        axis.axhline(0, color="#888888", linewidth=0.6)
    axis.set_ylabel("confidence before minus after" if shift else "confidence after ablation")
    save(figure, path, style)


def plot_splits(pairs: Pairs, split: str, style: Style, path: str) -> None:
    """Figure 12: densities of the confidence of unchanged captions on the split that is tested on and on the others."""
    figure, axes = plt.subplots(1, len(ROLES), figsize=(7.5, 2.9))
    for axis, role in zip(axes, ROLES, strict=True):
        for index, (label, chosen) in enumerate((("test", True), ("train-val", False)), 1):
            values = [p.after for p in pairs[role] if not p.changed and (p.split == split) == chosen]
            drawn: dict[str, Any] = {"color": colour_of(style, index), "label": f"{label} (n = {len(values)})"}
            if len({*values}) < 2:  # without a density only the label
                axis.plot([], [], **drawn)
                continue
            density = gaussian_kde(values)
            reach = REACH * float(density.covariance[0, 0]) ** 0.5
            places = np.linspace(min(values) - reach, max(values) + reach, 100)
            axis.plot(places, density(places), **drawn)
            axis.fill_between(places, density(places), color=drawn["color"], alpha=0.2)
        axis.set(title=role, xlabel="confidence after ablation", ylim=(0, None))
        axis.legend(fontsize="small")
    axes[0].set_ylabel("density")
    save(figure, path, style)


def plot_classes(images: Mapping[str, int], style: Style, path: str) -> None:
    """Figure 8: how many images of each scene the probes have; images: by scene."""
    figure, axis = plt.subplots(figsize=(5.0, 2.8))
    scenes = _name_scenes(axis, images)
    drawn = axis.bar(range(len(scenes)), [images[scene] for scene in scenes], color=colour_of(style, 1), width=0.7)
    axis.bar_label(drawn, fontsize="small")
    axis.margins(y=0.1)  # room for the numbers
    axis.set_ylabel("images")
    save(figure, path, style)


def plot_probes(run: ScenesRun, images: Mapping[str, int], share: float | None, style: Style, path: str) -> None:
    """Figures 9 and 13: F1 of each scene by the random forest before and after, and of guessing, on a split."""
    figure, axis = plt.subplots(figsize=(6.5, 3.2))
    scenes = _name_scenes(axis, images)
    drawn = ((PRETRAINED, FOREST, PRETRAINED, 1), (FINETUNED, FOREST, FINETUNED, 2), (RANDOM, RANDOM, PRETRAINED, 6))
    for index, (label, probe, role, colour) in enumerate(drawn):
        places = [run.place(PROBING, role, f"F1 of {scene}", source=probe, level=share) for scene in scenes]
        points = {x + (index - 1) * 0.27: run.value(place) for x, place in enumerate(places)}
        bars(axis, points, 0.25, label, colour_of(style, colour))
    axis.set(ylim=(0, 1.05), ylabel="F1" if share is None else f"F1, split {split_name(share)}")
    axis.legend(ncols=3, **ABOVE)
    save(figure, path, style)


def _short(text: str) -> str:
    return text if len(text) <= LINE else f"{text[: LINE - 1].rstrip()}…"


def _name_scenes(axis: Axes, images: Mapping[str, int]) -> list[str]:
    """The scenes, those of most images first, below a place each."""
    scenes = sorted(images, key=lambda scene: (-images[scene], scene))
    axis.set_xticks(range(len(scenes)), scenes, rotation=30, ha="right")
    return scenes


def plot_matrices(matrices: Mapping[str, Sequence[Row]], layer: int, style: Style, path: str) -> None:
    """Figure 3: the attention matrix of the first example in a layer, before and after; rows of MATRICES by role."""
    image, of_image = _first_image(matrices)
    shown = {role: of_image[role, layer] for role in ROLES if (role, layer) in of_image}
    figure, axes = plt.subplots(1, len(ROLES), figsize=(7.5, 4.0))
    for axis, role in zip(axes, ROLES, strict=True):
        axis.set_title(role)
        _draw(axis, shown.get(role), shown.values(), style, ticks=True)
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
            _draw(axis, of_image.get((role, layer)), of_image.values(), style, ticks=False)
            axis.set_title(f"{role}, layer {layer}")
    _explain(figure, axes, style)
    save(figure, path, style)


def plot_density(
    densities: Sequence[Row], blocks: Mapping[str, Sequence[Row]], relations: Sequence[str], style: Style, path: str
) -> None:
    """Figure 4: contours of the density of deviation and mass, a panel for each relation, and a point for each image.

    densities: rows of DENSITIES; blocks: rows of BLOCKS by role.
    """
    figure, axes = panels(len(relations), 2, 7.5, 2.9)
    for axis, relation in zip(axes, relations, strict=True):
        for index, role in enumerate(ROLES):
            points = [(b["deviation"], b["mass"]) for b in blocks[role] if b["relation"] == relation]
            colour = colour_of(style, 1 + 2 * index)
            axis.scatter(*zip(*points, strict=True), s=4, color=colour, alpha=0.4, linewidths=0)
            grid = {
                (row["mass"], row["deviation"]): row["enclosed"]
                for row in densities
                if (row["captioner"], row["relation"]) == (role, relation)
            }
            masses, deviations = (sorted({*places}) for places in zip(*grid, strict=True))
            enclosed = [[grid.get((mass, deviation), 1.0) for deviation in deviations] for mass in masses]
            axis.contour(deviations, masses, enclosed, levels=ENCLOSED, colors=[colour], linewidths=0.9)
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


def _draw(axis: Axes, matrix: Matrix | None, others: Iterable[Matrix], style: Style, ticks: bool) -> None:
    """A matrix, in the colours of all others, with frames around its sub-blocks; nothing where there is none."""
    if matrix is None:
        axis.set_axis_off()
        return
    names, values = matrix
    top = max(float(of_other.max()) for _, of_other in others)
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
    labels = [f"region {name}" if place >= first else name for place, name in enumerate(names)]
    axis.set_xticks(range(len(names)), labels, rotation=90, fontsize="x-small")
    axis.set_yticks(range(len(names)), labels, fontsize="x-small")


def _explain(figure: Any, axes: np.ndarray, style: Style) -> None:
    """What the colours of values and of frames mean."""
    if pictures := [picture for axis in axes.flat for picture in axis.get_images()]:
        figure.colorbar(pictures[0], ax=axes, shrink=0.8, label="attention (maximum over heads)")
    handles = [Line2D([], [], color=colour_of(style, index)) for index in FRAMES.values()]
    figure.legend(handles, list(FRAMES), loc="outside upper center", ncols=3)
