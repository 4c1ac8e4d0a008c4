"""Find the adjectives and nouns that go with each of several types of captions, corpus by corpus."""

from collections import defaultdict
from itertools import count
from typing import Any

from captionlab.language.schemas import ASSOCIATIONS, TAGGED
from captionlab.language.statistics import associate
from captionlab.scripting import script
from captionlab.tables import TableWriter, read_table


@script
def main(snakemake: Any) -> None:
    captions: dict[str, dict[str, list[tuple[list[str], list[str]]]]] = {}
    for caption_type, path in zip(snakemake.params.types, snakemake.input.tags, strict=True):
        for row in read_table(path, TAGGED, ["corpus", "lemmas", "tags"]).to_pylist():
            of_corpus = captions.setdefault(row["corpus"], {name: [] for name in snakemake.params.types})
            of_corpus[caption_type].append((row["lemmas"], row["tags"]))
    with TableWriter(snakemake.output[0], ASSOCIATIONS) as writer:
        for corpus, of_corpus in captions.items():
            ranks: defaultdict[tuple[str, str], count[int]] = defaultdict(lambda: count(1))
            writer.write(
                [
                    {"corpus": corpus, **vars(one), "rank": next(ranks[one.caption_type, one.tag])}
                    for one in associate(of_corpus)
                ]
            )
