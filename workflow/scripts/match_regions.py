"""Match the regions of images with the tagged objects that they show."""

import numpy as np

from captionlab.ablation.match_regions import match_regions
from captionlab.ablation.schemas import COVERAGE, MATCHES
from captionlab.captioners.store import load_captioner
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import folder_of, script
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table, write_table


@script
def main(snakemake):
    params = snakemake.params
    captioner, tokenizer = load_captioner(folder_of(snakemake.input.model[0]))
    images = captioner.open_images(snakemake.input.features, tokenizer)
    matches, coverage = [], []
    ids = [
        image
        for image in read_table(snakemake.input.images, IMAGES, ["image_id"])["image_id"].to_pylist()
        if image in images
    ]
    for image in progress(ids, what="images", total=len(ids)):
        found = match_regions(*images.boxes(image), params.config["overlap"], params.config["inside"])
        coverage.append((image, len(found.tagged), int(found.tagged.any(1).sum())))
        for region, tag in np.argwhere(found.tagged):
            matches.append((image, region, tag, found.overlap[region, tag], found.inside[region, tag]))
    for name, kind, rows in (("matches", MATCHES, matches), ("coverage", COVERAGE, coverage)):
        write_table(snakemake.output[name], kind, [dict(zip(kind.columns, row, strict=True)) for row in rows])
