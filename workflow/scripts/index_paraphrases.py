"""Read METEOR's table of paraphrases once for all jobs that score captions, and once on a machine."""

from importlib.resources import files

from captionlab.cache import once
from captionlab.evaluation.paraphrases import index_paraphrases
from captionlab.evaluation.schemas import PARAPHRASES, PHRASES
from captionlab.scripting import script
from captionlab.tables import write_table


@script
def main(snakemake):
    output = snakemake.output

    def index() -> None:
        phrases, paraphrases = index_paraphrases(files("pycocoevalcap.meteor") / "data" / "paraphrase-en.gz")
        write_table(output.phrases, PHRASES, phrases)
        write_table(output.paraphrases, PARAPHRASES, paraphrases)

    once(dict(snakemake.params.items()), [output.phrases, output.paraphrases], index)
