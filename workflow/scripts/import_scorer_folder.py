"""Store a scorer that was published as a folder or made in another run, in the layout of scorers of this run."""

from captionlab.jobs.scripting import folder_of, script
from captionlab.scorers.store import import_folder


@script
def main(snakemake):
    files = snakemake.input.files
    # Of another run, the files in the folder are named.
    folder = files[0] if len(files) == 1 else folder_of(files[0])
    import_folder(snakemake.params.config, folder, folder_of(snakemake.output.config))
