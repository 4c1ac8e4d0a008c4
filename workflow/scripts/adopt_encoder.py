"""Store an encoder as a scorer: its text tower, a prompt and a scale."""

from pathlib import Path

from captionlab.declarations import family_class
from captionlab.encoders.store import load_encoder
from captionlab.scripting import script


@script
def main(snakemake):
    encoder = load_encoder(Path(snakemake.input.weights).parent)
    settings = dict(snakemake.params.config)
    scorer = family_class("scorers", settings.pop("family"))(encoder, **settings)
    scorer.save(Path(snakemake.output.config).parent)
