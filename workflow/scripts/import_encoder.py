"""Store an encoder whose weights were published, in the layout of the encoders trained here."""

import importlib
from pathlib import Path

from captionlab.scripting import run


def main(snakemake):
    config = snakemake.params.config
    files = list(snakemake.input.get("weights", []))
    published = importlib.import_module(f"captionlab.features.{config['family']}_weights")
    encoder = published.import_weights(config, files[0] if files else None)
    encoder.save(Path(snakemake.output.weights).parent)


if __name__ == "__main__":
    run(main, globals())
