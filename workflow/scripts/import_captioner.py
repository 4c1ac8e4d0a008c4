"""Store a captioner that was published or made in another run, in the layout of the captioners trained here."""

from captionlab.captioners.store import import_captioner, import_folder
from captionlab.scripting import folder_of, script


@script
def main(snakemake):
    config, output = dict(snakemake.params.config), folder_of(snakemake.output.config)
    family, _ = config.pop("family"), config.pop("weights")
    if "tokenizer" in config:
        config.pop("tokenizer")
        import_captioner(family, *snakemake.input.files, output, **config)
    else:
        import_folder(family, *snakemake.input.files, output, config)
