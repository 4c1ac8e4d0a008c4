"""Tables 7 and 14 of Dessì et al. 2023: adjectives and nouns that go with each type of captions."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.papers.discritune.layouts import ASSOCIATIONS, associations_name
from captionlab.reporting.language import TOP, side_by_side
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.reproduction import Reproduction
from captionlab.reporting.runs import Row
from captionlab.reporting.sheets import PROVENANCE, table_of

RECORD_COLUMNS = ("corpus", "caption_type", "tag", "rank", "lemma", "count", "association", "published", *PROVENANCE)


def associations_table(
    associations: Sequence[Row],
    types: Sequence[str],
    corpora: Sequence[str],
    tag: str,
    paper: Reproduction,
    provenance: Mapping[str, Any],
) -> Table:
    """Lemmas of a part of speech (ADJ or NOUN) that go with each caption type, side by side: a block for each corpus.

    `types` are those whose words were told apart. A lemma that is not more frequent in a type than elsewhere
    (association 0 or less) does not go with it. The paper's lemmas have a column where it has such a type.
    """
    number, word = ASSOCIATIONS[tag]
    theirs = paper.corpora.get("ConCap")  # the corpus of both tables
    printed = {one: paper.ranked(number, one, f"{word} rank") if theirs in corpora else {} for one in types}
    columns = [Column("rank", numeric=False)]
    for caption_type in types:
        columns += [Column("lemma", group=caption_type, numeric=False), Column("LMI", group=caption_type)]
        if printed[caption_type]:
            columns.append(Column("paper", group=caption_type, numeric=False))
    blocks, records = [], []
    for corpus in corpora:
        lists: list[list[Cell]] = []
        for caption_type in types:
            words = printed[caption_type] if corpus == theirs else {}
            place = (corpus, caption_type, tag)
            rows = [row for row in associations if (row["corpus"], row["caption_type"], row["tag"]) == place]
            top = [row for row in rows if row["rank"] <= TOP and row["association"] > 0.0]
            top.sort(key=lambda row: row["rank"])
            records += [{**row, "published": words.get(row["rank"])} for row in top]
            lists += [[Cell(row["lemma"]) for row in top], [Cell(f"{row['association']:.1f}") for row in top]]
            if printed[caption_type]:
                lists.append([Cell(words.get(rank, MISSING)) for rank in range(1, max([0, *words]) + 1)])
        blocks.append(Block(side_by_side(lists), corpus))
    missing = f"{MISSING}: no more {word}s are more frequent in this type than elsewhere"
    beside = "; in a column of the paper: it prints none" if any(printed.values()) else ""
    return table_of(
        associations_name(tag),
        f"DiscriTune, table {number}: {word}s that go with each type of captions",
        f"The {TOP} {word} lemmas with the largest local mutual information (LMI, nats) with each type of captions.",
        columns,
        blocks,
        records,
        RECORD_COLUMNS,
        [f"{missing}{beside}.", *paper.notes(any(printed.values()))],
        provenance,
    )
