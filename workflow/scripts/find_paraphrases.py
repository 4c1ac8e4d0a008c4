"""Find METEOR's paraphrases that the references of an evaluation can match, once on a machine for the same ones."""

from importlib.resources import files
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from captionlab.cache import once
from captionlab.evaluation.paraphrases import paraphrases_of
from captionlab.evaluation.schemas import PARAPHRASES
from captionlab.files import digest
from captionlab.schemas import TOKENS
from captionlab.scripting import script
from captionlab.tables import read_table, write_table


@script
def main(snakemake):
    references, output = snakemake.input, Path(snakemake.output[0])
    with TemporaryDirectory(dir=output.parent) as folder:
        table = Path(folder, "paraphrases.parquet")  # of one name, for evaluations that have the same references

        def find() -> None:
            texts = (read_table(path, TOKENS, ["tokens"])["tokens"].to_pylist() for path in references)
            all_pairs = files("pycocoevalcap.meteor") / "data" / "paraphrase-en.gz"
            write_table(table, PARAPHRASES, paraphrases_of(chain.from_iterable(texts), all_pairs))

        once([dict(snakemake.params.items()), sorted({*map(digest, references)})], [table], find)
        table.replace(output)
