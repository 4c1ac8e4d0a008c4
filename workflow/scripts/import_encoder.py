"""Store an encoder that was published or made in another run, in the layout of encoders trained here."""

from captionlab.encoders.store import import_encoder
from captionlab.jobs.scripting import folder_of, script


@script
def main(snakemake):
    encoder = import_encoder(snakemake.params.config, *snakemake.input.get("weights", []))
    encoder.save(folder_of(snakemake.output.weights))
