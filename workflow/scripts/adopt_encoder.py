"""Store an encoder as a scorer: its text tower, a prompt and a scale."""

from captionlab.encoders.store import load_encoder
from captionlab.jobs.scripting import folder_of, script
from captionlab.plugins import family_class


@script
def main(snakemake):
    encoder = load_encoder(folder_of(snakemake.input.weights))
    settings = dict(snakemake.params.config)
    scorer = family_class("scorers", settings.pop("family"))(encoder, **settings)
    scorer.save(folder_of(snakemake.output.config))
