"""Find the regions of a shard of the images of a corpus: given boxes, cut out and embedded, or a detector's."""

import pyarrow.compute as pc

from captionlab.encoders.images import shard_rows
from captionlab.progress import progress
from captionlab.regions.tables import write_regions
from captionlab.schemas import IMAGES, OBJECTS
from captionlab.scripting import device, folder_of, script
from captionlab.tables import read_table


def cropped(snakemake, images):
    from captionlab.encoders.store import load_encoder
    from captionlab.regions.crops import boxes_by_image, cropped_regions

    objects = read_table(snakemake.input.objects, OBJECTS)
    objects = objects.filter(pc.is_in(objects["image_id"], images["image_id"].combine_chunks()))
    encoder = load_encoder(folder_of(snakemake.input.encoder_weights[0]), device())
    return cropped_regions(encoder, encoder.image_size, images, boxes_by_image(objects), snakemake.threads)


def detected(snakemake, images):
    from captionlab.regions.detection import Detector

    settings = {key: snakemake.params.config[key] for key in ("count", "size")}
    return Detector(snakemake.input.weights[0], **settings, device=device()).regions(images, snakemake.threads)


@script
def main(snakemake):
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "path", "data", "width", "height"])
    part = shard_rows(snakemake.wildcards.shard, len(images))
    images = images.slice(part.start, part.stop - part.start)
    config = snakemake.params.config
    regions = cropped if config["source"] == "boxes" else detected
    found = progress(regions(snakemake, images), what="images", total=len(images))
    write_regions(snakemake.output[0], found, {"regions": config})
