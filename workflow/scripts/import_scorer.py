"""Store a scorer that was published or made in another run, in the layout of scorers trained here."""

from captionlab.jobs.scripting import folder_of, script
from captionlab.scorers.store import import_scorer


@script
def main(snakemake):
    files = snakemake.input
    import_scorer(snakemake.params.config, files.weights, files.vocabulary, folder_of(snakemake.output.config))
