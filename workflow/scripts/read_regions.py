"""Read the regions of a corpus's images from files in a published format."""

from captionlab.jobs.scripting import script
from captionlab.regions.readers import read_regions
from captionlab.regions.tables import write_regions
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table


@script
def main(snakemake):
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "width", "height"]).to_pydict()
    sizes = dict(zip(images["image_id"], zip(images["width"], images["height"], strict=True), strict=True))
    config = snakemake.params.config
    found = read_regions(config["format"], snakemake.input.files, sizes)
    write_regions(snakemake.output[0], found, {"regions": config})
