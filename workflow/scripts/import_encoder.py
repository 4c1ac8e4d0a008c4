"""Store an encoder whose weights were published, in the layout of the encoders trained here."""

from captionlab.declarations import defined
from captionlab.scripting import folder_of, script


@script
def main(snakemake):
    config = snakemake.params.config
    import_weights = defined("encoders", config["family"], "import_weights")
    encoder = import_weights(config, *snakemake.input.get("weights", []))
    encoder.save(folder_of(snakemake.output.weights))
