"""Store a captioner that was published or made in another run, in the layout of captioners trained here."""

from captionlab.captioners.store import import_captioner, import_folder
from captionlab.jobs.scripting import folder_of, script


@script
def main(snakemake):
    config, files, directory = snakemake.params.config, snakemake.input.files, folder_of(snakemake.output.config)
    options = {name: value for name, value in config.items() if name not in ("family", "weights", "tokenizer")}
    if len(files) == 1:  # a folder, which also has the tokenizer
        import_folder(config["family"], *files, directory, options)
    else:
        import_captioner(config["family"], *files, directory, **options)
