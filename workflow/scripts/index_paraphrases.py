"""Read METEOR's table of paraphrases once for all jobs that score captions."""

from importlib.resources import files

from captionlab.evaluation.paraphrases import index_paraphrases
from captionlab.evaluation.schemas import PARAPHRASES, PHRASES
from captionlab.scripting import script
from captionlab.tables import write_table


@script
def main(snakemake):
    phrases, paraphrases = index_paraphrases(files("pycocoevalcap.meteor") / "data" / "paraphrase-en.gz")
    write_table(snakemake.output.phrases, PHRASES, phrases)
    write_table(snakemake.output.paraphrases, PARAPHRASES, paraphrases)
