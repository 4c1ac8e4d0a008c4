"""Caption images of scenes, with and without the diagnostic objects of the scene."""

from captionlab.ablation.captioning import caption_samples
from captionlab.ablation.matched_removal import read_removal
from captionlab.ablation.schemas import ABLATED
from captionlab.ablation.tables import read_diagnostic, read_scenes
from captionlab.captioners.store import load_captioner
from captionlab.config.evaluations import read_decoding
from captionlab.jobs.provenance import device_name
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.regions.removal import Sample, samples
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    params, config = snakemake.params, snakemake.params.config
    captioner, tokenizer = load_captioner(folder_of(snakemake.input.config), device())
    images = captioner.open_images(snakemake.input.features, tokenizer)
    scenes = read_scenes(snakemake.input.labels, snakemake.input.chosen, config["min_captions"])
    depicting = scenes.depicting(params.splits)
    diagnostic = read_diagnostic(snakemake.input.pmi)
    objects = {image: images.labels(image) for found in depicting.values() for image in found}
    ablated = [sample for number in config["objects"] for sample in samples(depicting, diagnostic, objects, number)]
    whole = [Sample(image, "", ()) for image in dict.fromkeys(sample.image for sample in ablated)]
    removal = read_removal(snakemake.input.matches, images, tokenizer, config["mask"] == "closed")
    decoding = read_decoding(params.decoding)
    captions = caption_samples(captioner, tokenizer, removal, [*whole, *ablated], decoding)
    rows = [{**row, "split": scenes.split[row["image_id"]]} for row in captions]
    write_table(snakemake.output[0], ABLATED, rows, {"device": device_name()})
