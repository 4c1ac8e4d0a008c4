"""Let a captioner describe the images of an evaluation, all its corpora."""

from pathlib import Path

from captionlab.captioners.store import load_captioner
from captionlab.generation.captioning import caption_images
from captionlab.generation.captions import evaluated_images, joined
from captionlab.generation.decoding import Decoding
from captionlab.provenance import device_name
from captionlab.scripting import device, run
from captionlab.tables import GENERATED, write_table


def main(snakemake):
    captioner, tokenizer = load_captioner(Path(snakemake.input.config).parent, device())
    decoding = Decoding.from_config(snakemake.params.decoding)
    described = {Path(path).parent.name: path for path in snakemake.input.described}
    parts = []
    for corpus, split, images in zip(
        snakemake.params.corpora, snakemake.params.splits, snakemake.input.images, strict=True
    ):
        ids = evaluated_images(images, corpus, split, described.get(corpus))
        features = [path for path in snakemake.input.features if Path(path).parent.name == corpus]
        parts.append(caption_images(captioner, tokenizer, ids, features, decoding, corpus, snakemake.params.seed))
    metadata = {"decoding": dict(snakemake.params.decoding), "device": device_name()}
    write_table(snakemake.output[0], GENERATED, joined(parts), metadata)


if __name__ == "__main__":
    run(main, globals())
