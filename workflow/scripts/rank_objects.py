"""Rank the objects of each scene by attention and by frequency, and compare the rankings."""

from typing import Any

from captionlab.ablation.tables import Scenes, read_scenes
from captionlab.attention.objects import (
    UNIFORM,
    attended_objects,
    correlation,
    frequent_objects,
    overlap_intervals,
    overlaps,
    uniform_attention,
)
from captionlab.attention.schemas import CORRELATIONS, OVERLAPS, RANKINGS, RECEIVED
from captionlab.regions.tagged_images import objects_of, read_tags
from captionlab.roles import PRETRAINED, ROLES
from captionlab.scripting import script
from captionlab.tables import read_table, write_table


def counted_splits(scenes: Scenes, split: str, frequent: str) -> list[str]:
    """The splits whose images say which objects are frequent: all, or all but the one whose attention is read."""
    splits = sorted({*scenes.split.values()} - ({split} if frequent == "other-splits" else set()))
    if not splits:
        raise ValueError(
            f"only images of the split {split!r}, whose attention is read, have a scene label; set "
            "scenes.ranking.frequent: all-splits to count objects in these"
        )
    return splits


def read_received(path: str) -> list[tuple[str, str, float]]:
    """Image, label and attention of each tag."""
    rows = read_table(path, RECEIVED).to_pydict()
    return list(zip(rows["image_id"], rows["label"], rows["attention"], strict=True))


@script
def main(snakemake: Any) -> None:
    config = snakemake.params.config
    scenes = read_scenes(snakemake.input.labels, snakemake.input.chosen, config["min_captions"])
    attended = scenes.depicting([snakemake.params.split])
    counted = scenes.depicting(counted_splits(scenes, snakemake.params.split, config["frequent"]))
    studied = [scene for scene in attended if attended[scene] and counted[scene]]
    depicting = {scene: attended[scene] for scene in studied}
    objects = objects_of(read_tags(snakemake.input.tags))
    frequent = frequent_objects(objects, {scene: counted[scene] for scene in studied})
    rankings, found, correlations = {"frequent": frequent}, [], []
    attention = {name: read_received(snakemake.input[name]) for name in ROLES}
    # Both captioners attend to the same tags.
    attention[UNIFORM] = uniform_attention(attention[PRETRAINED])
    for name, received in attention.items():
        rankings[name] = attended_objects(received, depicting, config["mean"])
        number = {scene: (len(attended[scene]), len(counted[scene])) for scene in studied}
        of_captioner = overlaps(rankings[name], frequent, number, config["depths"])
        intervals = {}
        for scene in studied:
            images = list(dict.fromkeys([*attended[scene], *counted[scene]]))
            of_scene = {image: objects.get(image, []) for image in counted[scene]}
            intervals[scene] = overlap_intervals(
                received, of_scene, images, config["depths"], config["mean"], snakemake.params.seed
            )
        found += [{"captioner": name, **vars(row), **intervals[row.scene][row.depth]} for row in of_captioner]
        if name in ROLES:
            pairs = zip(*((row.rank_biased_overlap, row.intersection_over_union) for row in of_captioner), strict=True)
            correlations.append({"captioner": name, **vars(correlation(*pairs))})
    ranked = [
        {"ranking": name, "scene": scene, "rank": rank, "label": label}
        for name, of_scenes in rankings.items()
        for scene, labels in of_scenes.items()
        for rank, label in enumerate(labels, 1)
    ]
    write_table(snakemake.output.rankings, RANKINGS, ranked)
    write_table(snakemake.output.overlaps, OVERLAPS, found)
    write_table(snakemake.output.correlations, CORRELATIONS, correlations)
