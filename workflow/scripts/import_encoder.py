"""Store an encoder whose weights were published, in the layout of the encoders trained here."""

import importlib

from captionlab.scripting import folder_of, script


@script
def main(snakemake):
    config = snakemake.params.config
    published = importlib.import_module(f"captionlab.encoders.{config['family']}_weights")
    encoder = published.import_weights(config, *snakemake.input.get("weights", []))
    encoder.save(folder_of(snakemake.output.weights))
