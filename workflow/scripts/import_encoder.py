"""Store an encoder whose weights were published, in the layout of the encoders trained here."""

from pathlib import Path

from captionlab.features.clip_weights import import_weights
from captionlab.scripting import run


def main(snakemake):
    files, config = list(snakemake.input.get("weights", [])), snakemake.params.config
    if config["family"] == "siglip":
        from captionlab.features.siglip import Siglip

        encoder = Siglip.from_published(*files, heads=config.get("heads"))
    else:
        encoder = import_weights(config, files[0] if files else None)
    encoder.save(Path(snakemake.output.weights).parent)


if __name__ == "__main__":
    run(main, globals())
