"""Embed a shard of the images of a corpus."""

from pathlib import Path

from captionlab.encoders.images import embed_images
from captionlab.encoders.store import load_encoder
from captionlab.scripting import device, script


@script
def main(snakemake):
    encoder = load_encoder(Path(snakemake.input.weights).parent, device())
    embed_images(
        encoder,
        snakemake.input.images,
        snakemake.output[0],
        shard=snakemake.wildcards.shard,
        threads=snakemake.threads,
        batch=encoder.batch,
        patches=snakemake.params.patches,
    )
