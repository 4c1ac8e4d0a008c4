"""Store an encoder as a scorer: its text tower, a prompt and a scale."""

from pathlib import Path

from captionlab.encoders.store import load_encoder
from captionlab.scorers.clip import ClipScorer
from captionlab.scripting import run


def main(snakemake):
    encoder = load_encoder(Path(snakemake.input.weights).parent)
    settings = {key: value for key, value in snakemake.params.config.items() if key != "family"}
    ClipScorer(encoder, **settings).save(Path(snakemake.output.config).parent)


if __name__ == "__main__":
    run(main, globals())
