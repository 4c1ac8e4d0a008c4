"""Store an encoder whose weights were published, in the layout of the encoders trained here."""

from pathlib import Path

from captionlab.features.clip_weights import import_weights
from captionlab.scripting import run


def main(snakemake):
    files = list(snakemake.input.get("weights", []))
    clip = import_weights(snakemake.params.config, files[0] if files else None)
    clip.save(Path(snakemake.output.weights).parent)


if __name__ == "__main__":
    run(main, globals())
