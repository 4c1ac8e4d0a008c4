"""Rank the objects of each scene by attention and by frequency, and compare the rankings."""

from captionlab.ablation.tables import read_scenes
from captionlab.attention import objects
from captionlab.attention.schemas import CORRELATIONS, OVERLAPS, RANKINGS, RECEIVED
from captionlab.config.roles import PRETRAINED, ROLES
from captionlab.jobs.scripting import script
from captionlab.regions.tags import objects_of, read_tags
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    inputs, params, config = snakemake.input, snakemake.params, snakemake.params.config
    scenes = read_scenes(inputs.labels, inputs.chosen, config["min_captions"])
    # The splits in which objects are counted: all, or all except the split whose attention is read.
    splits = sorted({*scenes.split.values()} - ({params.split} if config["frequent"] == "other-splits" else set()))
    if not splits:
        raise ValueError(
            f"only images of the split {params.split!r}, whose attention is read, have a scene label; set "
            "scene_analysis.ranking.frequent: all-splits to count objects in these"
        )
    attended, counted = scenes.depicting([params.split]), scenes.depicting(splits)
    studied = [scene for scene in attended if attended[scene] and counted[scene]]
    depicting = {scene: attended[scene] for scene in studied}
    tagged = objects_of(read_tags(inputs.tags))
    frequent = objects.frequent_objects(tagged, {scene: counted[scene] for scene in studied})
    rankings, found, correlations = {"frequent": frequent}, [], []
    attention = {}
    for name in ROLES:
        rows = read_table(inputs[name], RECEIVED).to_pydict()
        attention[name] = list(zip(rows["image_id"], rows["label"], rows["attention"], strict=True))
    # Both captioners attend to the same tags.
    attention[objects.UNIFORM] = objects.uniform_attention(attention[PRETRAINED])
    for name, received in attention.items():
        rankings[name] = objects.attended_objects(received, depicting, config["mean"])
        number = {scene: (len(attended[scene]), len(counted[scene])) for scene in studied}
        of_captioner = objects.overlaps(rankings[name], frequent, number, config["depths"])
        intervals = {}
        for scene in studied:
            images = list(dict.fromkeys([*attended[scene], *counted[scene]]))
            of_scene = {image: tagged.get(image, []) for image in counted[scene]}
            options = config["depths"], config["mean"], params.seed
            intervals[scene] = objects.overlap_intervals(received, of_scene, images, *options)
        found += [{"captioner": name, **vars(row), **intervals[row.scene][row.depth]} for row in of_captioner]
        if name in ROLES:
            pairs = zip(*((row.rank_biased_overlap, row.intersection_over_union) for row in of_captioner), strict=True)
            correlations.append({"captioner": name, **vars(objects.correlation(*pairs))})
    ranked = [
        {"ranking": name, "scene": scene, "rank": rank, "label": label}
        for name, of_scenes in rankings.items()
        for scene, labels in of_scenes.items()
        for rank, label in enumerate(labels, 1)
    ]
    write_table(snakemake.output.rankings, RANKINGS, ranked)
    write_table(snakemake.output.overlaps, OVERLAPS, found)
    write_table(snakemake.output.correlations, CORRELATIONS, correlations)
