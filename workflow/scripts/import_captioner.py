"""Store a captioner that was published or made in another run, in the layout of the captioners trained here."""

from captionlab.captioners.store import import_captioner
from captionlab.scripting import folder_of, script


@script
def main(snakemake):
    config = snakemake.params.config
    options = {name: value for name, value in config.items() if name not in ("family", "weights", "tokenizer")}
    import_captioner(config["family"], *snakemake.input.files, folder_of(snakemake.output.config), **options)
