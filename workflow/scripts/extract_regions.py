"""Find the regions of a shard of a corpus's images: annotated boxes, cropped and embedded, or a detector's regions."""

import pyarrow.compute as pc

from captionlab.images.locations import LOCATION
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.regions.tables import write_regions
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import IMAGES, OBJECTS
from captionlab.storage.shards import shard_rows
from captionlab.storage.tables import read_table


@script
def main(snakemake):
    inputs, config, threads = snakemake.input, snakemake.params.config, snakemake.threads
    table = Groups([inputs.images], IMAGES, ["image_id", *LOCATION, "width", "height"])
    part = shard_rows(snakemake.wildcards.shard, table.rows)
    images = table.parts(part)
    if config["source"] == "boxes":
        from captionlab.encoders.store import load_encoder
        from captionlab.regions.crops import boxes_by_image, cropped_regions

        objects = read_table(inputs.objects, OBJECTS)
        ids = read_table(inputs.images, IMAGES, ["image_id"])["image_id"][part]
        objects = objects.filter(pc.is_in(objects["image_id"], ids.combine_chunks()))
        encoder = load_encoder(folder_of(inputs.encoder_weights[0]), device())
        regions = cropped_regions(encoder, encoder.image_size, images, boxes_by_image(objects), threads)
    else:
        from captionlab.regions.detection import Detector

        regions = Detector(inputs.weights[0], config["count"], config["size"], device()).regions(images, threads)
    write_regions(snakemake.output[0], progress(regions, "images", part.stop - part.start), {"regions": config})
