"""Find METEOR's paraphrases that the references of a corpus can match, once on a machine for the same references."""

from importlib.resources import files

from captionlab.cache import once
from captionlab.evaluation.paraphrases import paraphrases_of
from captionlab.evaluation.schemas import PARAPHRASES
from captionlab.files import digest
from captionlab.schemas import TOKENS
from captionlab.scripting import script
from captionlab.tables import read_table, write_table


@script
def main(snakemake):
    references, output = snakemake.input[0], snakemake.output[0]

    def find() -> None:
        tokens = read_table(references, TOKENS, ["tokens"])["tokens"].to_pylist()
        found = paraphrases_of(tokens, files("pycocoevalcap.meteor") / "data" / "paraphrase-en.gz")
        write_table(output, PARAPHRASES, found)

    once([dict(snakemake.params.items()), digest(references)], [output], find)
