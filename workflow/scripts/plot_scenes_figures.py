"""Draw the figures of the scenes paper."""

from typing import Any

from captionlab.scripting import run


def main(snakemake: Any) -> None:
    import yaml

    from captionlab.papers.scenes.attention_figures import plot_special_tokens
    from captionlab.papers.scenes.pages import read_run, read_splits

    params, paths, output = snakemake.params, snakemake.input, snakemake.output
    with open(paths.style, encoding="utf-8") as file:
        style = yaml.safe_load(file)
    scenes = read_run(paths.values, paths.differences, paths.published, params.config["comparable"], params.job)
    splits = read_splits(paths.images[0], paths.training_images[0])
    _plot_attention(paths, params.job["layer"], scenes.found("source", "attention"), style, output)
    plot_special_tokens(scenes, style, output.special_tokens)
    _plot_captions(paths, scenes.split, splits, params.seed, style, output)
    _plot_probes(paths, scenes, splits, style, output)


def _plot_attention(paths: Any, layer: int, relations: list[str], style: Any, output: Any) -> None:
    from captionlab.attention.schemas import BLOCKS, DENSITIES, MATRICES
    from captionlab.papers.scenes.attention_figures import plot_density, plot_layers, plot_matrices
    from captionlab.roles import ROLES
    from captionlab.tables import read_table

    matrices, blocks = (
        {role: read_table(path, kind).to_pylist() for role, path in zip(ROLES, of_roles, strict=True)}
        for of_roles, kind in ((paths.matrices, MATRICES), (paths.blocks, BLOCKS))
    )
    plot_matrices(matrices, layer, style, output.matrices)
    plot_layers(matrices, style, output.layers)
    plot_density(read_table(paths.densities, DENSITIES).to_pylist(), blocks, relations, style, output.density)


def _plot_captions(paths: Any, split: str, splits: Any, seed: int, style: Any, output: Any) -> None:
    from captionlab.ablation.comparison import pairs
    from captionlab.papers.scenes.ablation import shown_samples
    from captionlab.papers.scenes.examples import drawn_examples
    from captionlab.papers.scenes.figures import plot_captions, plot_confidence, plot_examples, plot_splits
    from captionlab.papers.scenes.pages import ablated_objects, read_captions, read_described, read_pictures

    captions = read_captions(paths.captions)
    objects = ablated_objects(captions)
    shown = [row["image_id"] for row in shown_samples(captions["finetuned"], objects)]
    described = (read_described(path[0]) for path in (paths.object_captions, paths.scene_captions))
    examples, _ = drawn_examples(captions, *described, splits, seed)
    pictures = read_pictures(paths.images[0], [example.image for example in examples])
    plot_captions(examples, pictures, style, output.before_and_after)
    plot_examples(captions, read_pictures(paths.images[0], shown), objects, style, output.examples)
    before_and_after = {role: pairs(rows) for role, rows in captions.items()}
    plot_confidence(before_and_after, split, False, style, output.confidence)
    plot_confidence(before_and_after, split, True, style, output.shift)
    plot_splits(before_and_after, split, style, output.splits)


def _plot_probes(paths: Any, scenes: Any, splits: Any, style: Any, output: Any) -> None:
    from captionlab.papers.scenes.figures import plot_classes, plot_probes
    from captionlab.papers.scenes.pages import read_probed
    from captionlab.papers.scenes.probes import INTACT

    sizes, shares = read_probed(paths.encodings[0], splits).scenes, scenes.found("level", INTACT)
    plot_classes(sizes, style, output.classes)
    plot_probes(scenes, sizes, max(shares, default=None), style, output.probes)
    plot_probes(scenes, sizes, min(shares, default=None), style, output.easy_probes)


if __name__ == "__main__":
    run(main, globals())
