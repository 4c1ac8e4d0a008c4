"""Encode images of scenes, with and without the diagnostic objects, by the last hidden states of a captioner."""

import logging

from captionlab.ablation.matched_removal import read_removal
from captionlab.ablation.tables import read_diagnostic, read_scenes
from captionlab.captioners.store import load_captioner
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.probes.encodings import encode_images
from captionlab.probes.probe import downsample, without_singles
from captionlab.probes.schemas import encodings_schema
from captionlab.regions.removal import with_objects
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    params, config = snakemake.params, snakemake.params.config
    captioner, tokenizer = load_captioner(folder_of(snakemake.input.config), device())
    images = captioner.open_images(snakemake.input.features, tokenizer)
    scenes = read_scenes(snakemake.input.labels, snakemake.input.chosen, config["min_captions"])
    diagnostic = read_diagnostic(snakemake.input.pmi)
    classes = scenes.classes(config["scenes"], params.splits)
    if config["selection"] == "diagnostic-objects":
        labels = {image: images.labels(image) for image in classes}
        classes = with_objects(classes, diagnostic, labels, config["objects"])
    classes, chosen = without_singles(classes), scenes.chosen[: config["scenes"]]
    probed = {*classes.values()}
    if absent := [scene for scene in chosen if scene not in probed]:
        logging.warning("no probe tells %s: fewer than two images have all its diagnostic objects", ", ".join(absent))
    if len(probed) < 2:
        raise ValueError(
            f"of the scenes {', '.join(chosen)} fewer than two have two images with all their diagnostic objects; "
            "lower scene_analysis.probes.objects, or set scene_analysis.probes.selection: all"
        )
    classes = downsample(classes, config["images"], params.seed)
    removal = read_removal(snakemake.input.matches, images, tokenizer, config["mask"] == "closed")
    table = encode_images(captioner, removal, classes, diagnostic, [0, config["objects"]])
    write_table(snakemake.output[0], encodings_schema(captioner.architecture["width"]), table)
