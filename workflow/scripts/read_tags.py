"""Collect the tags of a corpus's images: annotated objects, labels of regions, or the output file of a detector."""

from itertools import chain

from captionlab.jobs.scripting import script
from captionlab.regions.tags import labelled_rows, read_region_labels, read_vinvl_tags, write_tags
from captionlab.storage.schemas import IMAGES, OBJECTS
from captionlab.storage.tables import read_table


@script
def main(snakemake):
    config, inputs = snakemake.params.config, snakemake.input
    if config["source"] == "objects":
        rows = labelled_rows(read_table(inputs.objects, OBJECTS), "object_index")
    elif config["source"] == "regions":
        rows = chain.from_iterable(labelled_rows(read_region_labels(path), "region_index") for path in inputs.regions)
    else:
        images = {*read_table(inputs.images, IMAGES, ["image_id"])["image_id"].to_pylist()}
        rows = chain.from_iterable(read_vinvl_tags(path, images) for path in inputs.files)
    write_tags(snakemake.output[0], rows, {"tags": dict(config)})
