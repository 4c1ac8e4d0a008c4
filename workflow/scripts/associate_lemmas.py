"""Find the adjectives and nouns that go with each of several types of captions, corpus by corpus."""

from collections import Counter
from typing import Any

from captionlab.language.associations import associate
from captionlab.language.schemas import ASSOCIATIONS, TAGGED
from captionlab.scripting import run
from captionlab.tables import TableWriter, read_table


def main(snakemake: Any) -> None:
    captions: dict[str, dict[str, list[tuple[list[str], list[str]]]]] = {}
    for caption_type, path in zip(snakemake.params.types, snakemake.input.tags, strict=True):
        for row in read_table(path, TAGGED, ["corpus", "lemmas", "tags"]).to_pylist():
            of_corpus = captions.setdefault(row["corpus"], {name: [] for name in snakemake.params.types})
            of_corpus[caption_type].append((row["lemmas"], row["tags"]))
    with TableWriter(snakemake.output[0], ASSOCIATIONS) as writer:
        for corpus, of_corpus in captions.items():
            found = associate(of_corpus)
            places: Counter[tuple[str, str]] = Counter()
            ranks = []
            for one in found:
                places[one.caption_type, one.tag] += 1
                ranks.append(places[one.caption_type, one.tag])
            names = ("caption_type", "tag", "lemma", "count", "association")
            columns = {name: [getattr(one, name) for one in found] for name in names}
            writer.write({"corpus": [corpus] * len(found), "rank": ranks, **columns})


if __name__ == "__main__":
    run(main, globals())
