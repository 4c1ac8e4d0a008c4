"""Figures 2, 5 to 9, 12 and 13: captions, also without diagnostic objects, their confidence, and probes of scenes."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image
from scipy.stats import gaussian_kde

from captionlab.ablation.comparison import Pair, changed, pairs
from captionlab.attention.density import REACH
from captionlab.attention.schemas import BLOCKS, DENSITIES, MATRICES
from captionlab.papers.scenes.attention import ATTENTION
from captionlab.papers.scenes.attention_figures import plot_density, plot_layers, plot_matrices, plot_special_tokens
from captionlab.papers.scenes.captions import Change, Examples
from captionlab.papers.scenes.pages import read_pages, read_run
from captionlab.papers.scenes.probe_scores import FOREST, PROBING, RANDOM, split_name
from captionlab.papers.scenes.run import Row, ScenesRun, read_by_role, read_rows
from captionlab.reporting.figures import Style, colour_of, save
from captionlab.roles import FINETUNED, PRETRAINED, ROLES

# Characters of a line beside a picture.
LINE = 58
# Inches: a picture, and a character of such a line.
PICTURE, CHARACTER = 1.7, 0.08
Pairs = Mapping[str, Sequence[Pair]]


def plot(inputs: Row, params: Row, style: Style, paths: Mapping[str, str]) -> None:
    """Every figure of the paper."""
    of = {name.removeprefix("scenes_"): path for name, path in paths.items()}
    scenes, pages, split = read_run(inputs, params), read_pages(inputs, params), params["job"]["split"]
    matrices, blocks = read_by_role(inputs["matrices"], MATRICES), read_by_role(inputs["blocks"], BLOCKS)
    densities, relations = read_rows(inputs["densities"], DENSITIES), scenes.found("source", ATTENTION)
    before_and_after = {role: pairs(rows) for role, rows in pages.captions.items()}
    images, shares = pages.probed.scenes, scenes.found("level", PROBING)
    look: dict[Any, Any] = {
        "font.size": style["font_size"], "axes.titlesize": "medium", "figure.labelsize": "medium",
        "legend.frameon": False, "figure.constrained_layout.use": True,
    }  # fmt: skip
    with plt.rc_context(look):
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
    _beside(shown, texts or ["no captioned image is described by people"], style, path)


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
    _beside(shown, texts or [f"no scene caption changes without {objects} objects"], style, path)


def _beside(pictures: Sequence[bytes], texts: Sequence[str], style: Style, path: str) -> None:
    """A text in each row, with a picture on its left where there is one."""
    widths = [PICTURE, CHARACTER * max(len(line) for text in texts for line in text.split("\n"))]
    figure, axes = plt.subplots(
        len(texts), 2, figsize=(sum(widths), PICTURE * len(texts)), squeeze=False,
        gridspec_kw={"width_ratios": widths},
    )  # fmt: skip
    for axis in axes.flat:
        axis.set_axis_off()
    for (left, _), picture in zip(axes, pictures, strict=False):
        if picture:
            left.imshow(Image.open(io.BytesIO(picture)))
    for (_, right), text in zip(axes, texts, strict=True):
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
            _density(axis, values, f"{label} (n = {len(values)})", colour_of(style, index))
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
    bars = ((PRETRAINED, FOREST, PRETRAINED, 1), (FINETUNED, FOREST, FINETUNED, 2), (RANDOM, RANDOM, PRETRAINED, 6))
    for index, (label, probe, role, colour) in enumerate(bars):
        places = [run.place(PROBING, role, f"F1 of {scene}", source=probe, level=share) for scene in scenes]
        there = {x + (index - 1) * 0.27: one for x, one in enumerate(map(run.value, places)) if one is not None}
        values, lows, highs = (
            [getattr(one, name) for one in there.values()] for name in ("value", "ci_low", "ci_high")
        )
        axis.bar(
            [*there], values, 0.25, yerr=[np.subtract(values, lows), np.subtract(highs, values)], label=label,
            color=colour_of(style, colour), error_kw={"elinewidth": 0.8, "capsize": 2, "ecolor": "#333333"},
        )  # fmt: skip
    axis.set(ylim=(0, 1.05), ylabel="F1" if share is None else f"F1, split {split_name(share)}")
    axis.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    save(figure, path, style)


def _short(text: str) -> str:
    return text if len(text) <= LINE else f"{text[: LINE - 1].rstrip()}…"


def _name_scenes(axis: Axes, images: Mapping[str, int]) -> list[str]:
    """The scenes, those of most images first, below a place each."""
    scenes = sorted(images, key=lambda scene: (-images[scene], scene))
    axis.set_xticks(range(len(scenes)), scenes, rotation=30, ha="right")
    return scenes


def _density(axis: Axes, values: Sequence[float], label: str, colour: str) -> None:
    """A density with its area shaded; where all values are equal, or there is one, only the label."""
    if len({*values}) < 2:
        axis.plot([], [], color=colour, label=label)
        return
    density = gaussian_kde(values)
    reach = REACH * float(density.covariance[0, 0]) ** 0.5
    places = np.linspace(min(values) - reach, max(values) + reach, 100)
    axis.plot(places, density(places), color=colour, label=label)
    axis.fill_between(places, density(places), color=colour, alpha=0.2)
