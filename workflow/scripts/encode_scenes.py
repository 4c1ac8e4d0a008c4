"""Encode images of scenes, whole and without the objects that tell the scene, by the last states of a captioner."""

from pathlib import Path
from typing import Any

from captionlab.ablation.tables import read_informative, read_removal, read_scenes
from captionlab.captioners.store import load_captioner
from captionlab.probes.encodings import encode_images
from captionlab.probes.kinds import encodings_kind
from captionlab.probes.probe import downsample
from captionlab.scripting import device, run
from captionlab.tables import write_table


def main(snakemake: Any) -> None:
    params, config = snakemake.params, snakemake.params.config
    captioner, tokenizer = load_captioner(Path(snakemake.input.config).parent, device())
    images = captioner.open_images(snakemake.input.features, tokenizer)
    scenes = read_scenes(snakemake.input.labels, snakemake.input.chosen, config["least_captions"])
    classes = downsample(scenes.classes(config["scenes"], params.splits), config["most"], params.seed)
    informative = read_informative(snakemake.input.information)
    removal = read_removal(snakemake.input.matches, images, tokenizer, config["mask"] == "closed")
    numbers = [0, config["objects"]]
    table = encode_images(captioner, removal, classes, informative, numbers)
    write_table(snakemake.output[0], encodings_kind(captioner.architecture["width"]), table)


if __name__ == "__main__":
    run(main, globals())
