"""Figures 2, 5 to 9, 12 and 13: captions, also without diagnostic objects, their confidence, and probes of scenes."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image
from scipy.stats import gaussian_kde

from captionlab.ablation.comparison import Pair, changed, pairs
from captionlab.attention.density import REACH
from captionlab.attention.schemas import BLOCKS, DENSITIES, MATRICES
from captionlab.papers.scenes.ablation import shown_samples
from captionlab.papers.scenes.attention_figures import plot_density, plot_layers, plot_matrices, plot_special_tokens
from captionlab.papers.scenes.examples import Example, drawn_examples
from captionlab.papers.scenes.pages import (
    ablated_objects,
    read_captions,
    read_described,
    read_pictures,
    read_probed,
    read_run,
    read_splits,
)
from captionlab.papers.scenes.probes import FOREST, INTACT, RANDOM, split_name
from captionlab.papers.scenes.run import ScenesRun
from captionlab.reporting.figures import Style, colour_of, save
from captionlab.roles import ROLES
from captionlab.tables import read_table

Row = Mapping[str, Any]
# Characters of a line beside a picture.
LINE = 58
# Inches: a picture, and a character of such a line.
PICTURE, CHARACTER = 1.7, 0.08


def plot(inputs: Row, params: Row, style: Style, paths: Mapping[str, str]) -> None:
    """Every figure of the paper."""
    of = {name.removeprefix("scenes_"): path for name, path in paths.items()}
    scenes = read_run(inputs, params)
    splits = read_splits(inputs["images"][0], inputs["training_images"][0])
    matrices, blocks = (
        {role: read_table(path, kind).to_pylist() for role, path in zip(ROLES, inputs[name], strict=True)}
        for name, kind in (("matrices", MATRICES), ("blocks", BLOCKS))
    )
    plot_matrices(matrices, params["job"]["layer"], style, of["figure3_attention"])
    plot_layers(matrices, style, of["figure11_layers"])
    densities, relations = read_table(inputs["densities"], DENSITIES).to_pylist(), scenes.found("source", "attention")
    plot_density(densities, blocks, relations, style, of["figure4_attention_density"])
    plot_special_tokens(scenes, style, of["figure10_special_tokens"])
    _plot_ablation(inputs, splits, params, style, of)
    sizes, shares = read_probed(inputs["encodings"][0], splits).scenes, scenes.found("level", INTACT)
    plot_classes(sizes, style, of["figure8_classes"])
    plot_probes(scenes, sizes, max(shares, default=None), style, of["figure9_probes"])
    plot_probes(scenes, sizes, min(shares, default=None), style, of["figure13_probes"])


def _plot_ablation(inputs: Row, splits: Mapping[str, str], params: Row, style: Style, paths: Mapping[str, str]) -> None:
    """Figures 2, 5, 6, 7 and 12: captions, before and after ablation."""
    captions, images, split = read_captions(inputs["captions"]), inputs["images"][0], params["job"]["split"]
    objects = ablated_objects(captions)
    shown = [row["image_id"] for row in shown_samples(captions["finetuned"], objects)]
    of_objects, of_scenes = (read_described(inputs[name][0]) for name in ("object_captions", "scene_captions"))
    examples, _ = drawn_examples(captions, of_objects, of_scenes, splits, params["seed"])
    pictures = read_pictures(images, [example.image for example in examples])
    plot_captions(examples, pictures, style, paths["figure2_captions"])
    plot_examples(captions, read_pictures(images, shown), objects, style, paths["figure5_examples"])
    before_and_after = {role: pairs(rows) for role, rows in captions.items()}
    plot_confidence(before_and_after, split, False, style, paths["figure6_confidence"])
    plot_confidence(before_and_after, split, True, style, paths["figure7_confidence_shift"])
    plot_splits(before_and_after, split, style, paths["figure12_splits"])


def plot_captions(examples: Sequence[Example], pictures: Mapping[str, bytes], style: Style, path: str) -> None:
    """Figure 2: an image, what people wrote of its objects and scene, and captions before and after finetuning."""
    texts = []
    for example in examples:
        lines = []
        for kind, reference, role, generated in (
            ("objects", example.objects, "before finetuning", example.before),
            ("scene", example.scene, "after finetuning", example.after),
        ):
            lines += [f"{kind}, by people: {_short(reference)}", f"    {role}: {_short(generated or '')}"]
        texts.append("\n".join(lines))
    _beside(
        [pictures.get(example.image, b"") for example in examples],
        texts or ["no captioned image is described by people"],
        style,
        path,
    )


def plot_examples(
    captions: Mapping[str, Sequence[Row]], pictures: Mapping[str, bytes], objects: int, style: Style, path: str
) -> None:
    """Figure 5: images whose scene caption changes without its diagnostic objects. Arguments as of examples_table."""
    shown = shown_samples(captions["finetuned"], objects)
    texts = [_example(row, captions, objects) for row in shown] or [
        f"no scene caption changes without {objects} objects"
    ]
    _beside([pictures.get(row["image_id"], b"") for row in shown], texts, style, path)


def _beside(pictures: Sequence[bytes], texts: Sequence[str], style: Style, path: str) -> None:
    """A text in each row, with a picture on its left where there is one."""
    widths = [PICTURE, CHARACTER * max(len(line) for text in texts for line in text.split("\n"))]
    with plt.rc_context({"font.size": style["font_size"]}):
        figure, axes = plt.subplots(
            len(texts), 2, figsize=(sum(widths), PICTURE * len(texts)), squeeze=False, layout="constrained",
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


def _example(row: Row, captions: Mapping[str, Sequence[Row]], objects: int) -> str:
    """The lines beside the picture of a sample: its scene, what was removed, and captions before and after."""
    lines = [f"{row['scene']}, without {', '.join(row['labels'])}"]
    for role in ROLES:
        of_image = [other for other in captions[role] if other["image_id"] == row["image_id"]]
        before = next(other["caption"] for other in of_image if not other["objects"])
        key = row["scene"], objects
        after = next(other["caption"] for other in of_image if (other["scene"], other["objects"]) == key)
        lines.append(f"{role}: {_short(before)}")
        lines.append(f"    → {_short(after)}" if changed(before, after) else "    → the same")
    return "\n".join(lines)


def plot_confidence(pairs: Mapping[str, Sequence[Pair]], split: str, shift: bool, style: Style, path: str) -> None:
    """Figure 6: confidence of unchanged captions after ablation; with `shift`, Figure 7: how far it moved."""
    with plt.rc_context({"font.size": style["font_size"]}):
        figure, axis = plt.subplots(figsize=(4.2, 3.2), layout="constrained")
        roles = ("finetuned", "pretrained")  # in the order of the paper
        values = [
            [
                pair.before - pair.after if shift else pair.after
                for pair in pairs[role]
                if not pair.changed and pair.split == split
            ]
            for role in roles
        ]
        drawn = axis.boxplot(
            values, widths=0.5, patch_artist=True, showmeans=True, medianprops={"color": "#333333"},
            flierprops={"markersize": 2},
            meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "#333333", "markersize": 4},
        )  # fmt: skip
        for index, box in zip((3, 1), drawn["boxes"], strict=True):
            box.set_facecolor(colour_of(style, index))
            box.set_alpha(0.6)
        labels = [f"{role}\n(n = {len(of_role)})" for role, of_role in zip(roles, values, strict=True)]
        axis.set_xticks(range(1, len(roles) + 1), labels)
        if shift:
            axis.axhline(0, color="#888888", linewidth=0.6)
        axis.set_ylabel("confidence before minus after" if shift else "confidence after ablation")
        save(figure, path, style)


def plot_splits(pairs: Mapping[str, Sequence[Pair]], split: str, style: Style, path: str) -> None:
    """Figure 12: densities of the confidence of unchanged captions on the split that is tested on and on the others."""
    with plt.rc_context({"font.size": style["font_size"]}):
        figure, axes = plt.subplots(1, len(ROLES), figsize=(7.5, 2.9), layout="constrained")
        for axis, role in zip(axes, ROLES, strict=True):
            for index, (label, chosen) in enumerate((("test", True), ("train-val", False))):
                values = [p.after for p in pairs[role] if not p.changed and (p.split == split) == chosen]
                _density(axis, values, f"{label} (n = {len(values)})", colour_of(style, 1 + index))
            axis.set_title(role, fontsize="medium")
            axis.set_xlabel("confidence after ablation")
            axis.set_ylim(0, None)
            axis.legend(frameon=False, fontsize="small")
        axes[0].set_ylabel("density")
        save(figure, path, style)


def plot_classes(images: Mapping[str, int], style: Style, path: str) -> None:
    """Figure 8: how many images of each scene the probes have; images: by scene."""
    with plt.rc_context({"font.size": style["font_size"]}):
        figure, axis = plt.subplots(figsize=(5.0, 2.8), layout="constrained")
        scenes = _by_number(images)
        drawn = axis.bar(range(len(scenes)), [images[scene] for scene in scenes], color=colour_of(style, 1), width=0.7)
        axis.bar_label(drawn, fontsize="small")
        axis.margins(y=0.1)  # room for the numbers
        axis.set_xticks(range(len(scenes)), scenes, rotation=30, ha="right")
        axis.set_ylabel("images")
        save(figure, path, style)


def plot_probes(run: ScenesRun, images: Mapping[str, int], share: float | None, style: Style, path: str) -> None:
    """Figures 9 and 13: F1 of each scene by the random forest before and after, and of guessing, on a split."""
    with plt.rc_context({"font.size": style["font_size"]}):
        figure, axis = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
        scenes = _by_number(images)
        bars = (("pretrained", FOREST, 1), ("finetuned", FOREST, 2), ("random", RANDOM, 6))
        for index, (label, probe, colour) in enumerate(bars):
            role = label if probe == FOREST else "pretrained"
            places = [run.place(INTACT, role, f"F1 of {scene}", source=probe, level=share) for scene in scenes]
            found = [run.value(place) for place in places]
            there = [(x, value) for x, value in enumerate(found) if value is not None]
            errors = [
                [value.value - value.ci_low for _, value in there],
                [value.ci_high - value.value for _, value in there],
            ]
            axis.bar(
                [x + (index - 1) * 0.27 for x, _ in there], [value.value for _, value in there], 0.25, yerr=errors,
                label=label, color=colour_of(style, colour),
                error_kw={"elinewidth": 0.8, "capsize": 2, "ecolor": "#333333"},
            )  # fmt: skip
        axis.set_xticks(range(len(scenes)), scenes, rotation=30, ha="right")
        axis.set_ylim(0, 1.05)
        axis.set_ylabel("F1" if share is None else f"F1, split {split_name(share)}")
        axis.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        save(figure, path, style)


def _short(text: str) -> str:
    return text if len(text) <= LINE else f"{text[: LINE - 1].rstrip()}…"


def _by_number(images: Mapping[str, int]) -> list[str]:
    return sorted(images, key=lambda scene: (-images[scene], scene))


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
