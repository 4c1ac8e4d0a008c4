"""Embed a shard of the images of a corpus."""

from captionlab.encoders.images import embed_images
from captionlab.encoders.store import load_encoder
from captionlab.jobs.scripting import device, folder_of, script


@script
def main(snakemake):
    encoder = load_encoder(folder_of(snakemake.input.weights), device())
    wanted = {"patches": snakemake.params.patches, "split": snakemake.params.split, "shard": snakemake.wildcards.shard}
    options = {**wanted, "threads": snakemake.threads, "batch": encoder.batch}
    embed_images(encoder, snakemake.input.images, snakemake.output[0], **options)
