"""Find METEOR's paraphrases that the references of an evaluation can match, once on a machine for the same ones."""

from importlib.resources import files
from itertools import chain

from captionlab.cache import once
from captionlab.evaluation.paraphrases import paraphrases_of
from captionlab.evaluation.schemas import PARAPHRASES
from captionlab.files import digest
from captionlab.schemas import TOKENS
from captionlab.scripting import script
from captionlab.tables import read_table, write_table


@script
def main(snakemake):
    references, output = [*snakemake.input], snakemake.output[0]

    def find() -> None:
        tables = (read_table(path, TOKENS, ["tokens"])["tokens"].to_pylist() for path in references)
        found = paraphrases_of(chain.from_iterable(tables), files("pycocoevalcap.meteor") / "data" / "paraphrase-en.gz")
        write_table(output, PARAPHRASES, found)

    once([dict(snakemake.params.items()), [*map(digest, references)]], [output], find)
