"""Find the adjectives and nouns that are associated with each of several types of captions, corpus by corpus."""

from collections import defaultdict
from itertools import count

from captionlab.jobs.scripting import script
from captionlab.language.schemas import ASSOCIATIONS
from captionlab.language.statistics import associate
from captionlab.storage.schemas import TAGGED
from captionlab.storage.tables import TableWriter, read_table


@script
def main(snakemake):
    captions = {}
    for caption_type, path in zip(snakemake.params.types, snakemake.input.tags, strict=True):
        for row in read_table(path, TAGGED, ["corpus", "words", "lemmas", "tags"]).to_pylist():
            of_corpus = captions.setdefault(row["corpus"], {name: [] for name in snakemake.params.types})
            of_corpus[caption_type].append((row["words"], row["lemmas"], row["tags"]))
    with TableWriter(snakemake.output[0], ASSOCIATIONS) as writer:
        for corpus, of_corpus in captions.items():
            ranks = defaultdict(lambda: count(1))
            found = [vars(one) | {"rank": next(ranks[one.caption_type, one.tag])} for one in associate(of_corpus)]
            writer.write([{"corpus": corpus, **row} for row in found])
