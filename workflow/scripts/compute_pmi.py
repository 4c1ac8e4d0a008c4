"""Compute how strongly the objects of images are associated with their scenes (PMI)."""

from collections import defaultdict
from itertools import count

from captionlab.ablation.pmi import pointwise_mutual_information
from captionlab.ablation.schemas import PMI
from captionlab.ablation.tables import read_scenes
from captionlab.jobs.scripting import script
from captionlab.regions.tags import objects_of, read_tags
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    config = snakemake.params.config
    scenes = read_scenes(snakemake.input.labels, snakemake.input.chosen, config["min_captions"])
    objects = objects_of(read_tags(snakemake.input.tags))
    # An image without tags still counts as an image.
    objects = {image: objects.get(image, []) for image in scenes.labels}
    found = pointwise_mutual_information(objects, scenes.depicting(), config["min_count"], config["smoothing"])
    ranks = defaultdict(lambda: count(1))
    write_table(snakemake.output[0], PMI, [{**vars(row), "rank": next(ranks[row.scene])} for row in found])
