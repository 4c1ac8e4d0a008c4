"""Tables on the language of captioners: statistics, patterns and words, also used by the tables of papers.

Rows are dictionaries of the schemas in `captionlab.language.schemas`, in the order of the captioners. A published value
stands beside a number only if the config says which captioner and corpus stand for the paper's.
"""

import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

ByCaptioner = Mapping[str, Sequence[Row]]

PATTERN_COLUMNS = (
    "captioner", "corpus", "source", "model", "role", "rank", "pattern", "start", "whole", "n", "example", "published",
    *PROVENANCE,
)  # fmt: skip
TOP = 10
MINED = 2  # number of mined patterns shown for each role; the CSV has all
EXAMPLE = 200  # number of characters shown of an example
# Statistic -> group and heading of its column, decimals and factor.
STATISTICS_SHOWN = {
    "perplexity": ("sentence level", "perplexity", 1, 1.0),
    "mean_length": ("sentence level", "mean length", 1, 1.0),
    "nouns": ("token level", "nouns", 1, 1.0),
    "distinct_nouns": ("token level", "non-repeated nouns", 1, 1.0),
    "types": ("variety", "types", 0, 1.0),
    "distinct_1": ("variety", "distinct-1, %", 1, 100.0),
    "distinct_2": ("variety", "distinct-2, %", 1, 100.0),
    "distinct_3": ("variety", "distinct-3, %", 1, 100.0),
    "repeated_share": ("variety", "repeated words, %", 1, 100.0),
    "perplexity_without_end": ("more on fluency", "perplexity without ends", 1, 1.0),
    "mean_perplexity": ("more on fluency", "mean over captions", 1, 1.0),
    "unknown_share": ("more on fluency", "unknown words, %", 1, 100.0),
    "captions": ("counts", "captions", 0, 1.0),
    "empty_captions": ("counts", "empty", 0, 1.0),
    "tokens": ("counts", "tokens", 0, 1.0),
}


def statistics_table(statistics: ByCaptioner, provenance: Mapping[str, Any]) -> Table:
    """Return the table of every statistic: a block for each corpus, captioners as rows.

    Raises ValueError if a statistic has no column in STATISTICS_SHOWN.
    """
    there = {row["statistic"] for rows in statistics.values() for row in rows}
    names = [name for name in STATISTICS_SHOWN if name in there]
    if unknown := sorted(there - {*names}):
        raise ValueError(f"the statistic {unknown[0]!r} has no column: add it to STATISTICS_SHOWN in {__name__}")
    blocks, records = [], []
    for corpus, captioners in _by_corpus(statistics).items():
        lines = []
        for captioner, rows in captioners.items():
            if found := {row["statistic"]: row for row in rows}:
                lines.append([Cell(captioner), *(_statistic(name, found.get(name)) for name in names)])
                records += [{"captioner": captioner, **found[name]} for name in names if name in found]
        blocks.append(Block(lines, corpus))
    shown = (STATISTICS_SHOWN[name] for name in names)
    columns = [Column("captioner", numeric=False), *(Column(heading, group=group) for group, heading, _, _ in shown)]
    description = (
        "Fluency, length, nouns and variety of the captions of each captioner. Perplexity is that of a trigram model "
        "over all words of a corpus; lengths and nouns are means per caption."
    )
    texts = ("language_statistics", "Statistics of the captions", description)
    kept = ("captioner", "corpus", "statistic", "value", "n", "note", *PROVENANCE)
    return table_of(*texts, columns, blocks, records, kept, [], provenance)


def _statistic(name: str, row: Row | None) -> Cell:
    if row is None:
        return Cell(MISSING, note=f"{name} was not measured.")
    if row["value"] is None:
        return Cell(MISSING, note=row["note"] or "It has no meaning for these captions.")
    _, _, decimals, factor = STATISTICS_SHOWN[name]
    return Cell(f"{row['value'] * factor:.{decimals}f}")


def patterns_table(
    patterns: ByCaptioner,
    provenance: Mapping[str, Any],
    paper: Reproduction | None = None,
    name: str = "language_patterns",
    title: str = "Prefixes and sentence patterns",
) -> Table:
    """Return the table of the most frequent prefixes and sentence patterns: a block for each corpus and captioner."""
    paper = paper or Reproduction({})
    blocks, records = [], []
    for corpus, captioners in _by_corpus(patterns).items():
        for captioner, rows in captioners.items():
            here = []
            for row in rows:
                example, theirs = (row["examples"] or [None])[0], _published_ratio(row, paper, captioner, corpus)
                here.append({"captioner": captioner, **row, "example": example, "published": theirs})
            if shown := _patterns_to_show(here, paper.labels(captioner)):
                blocks.append(Block(list(map(_pattern, shown)), f"{corpus}: {captioner}"))
            records += here
    headings = ("role", "source", "pattern", "share, %", "example")
    columns = [Column(heading, numeric=heading == "share, %") for heading in headings]
    description = (
        f"The {MINED} most frequent prefixes and sentence patterns mined from the captions of each captioner, and the "
        "paper's pattern that fits them best. The share is that of captions that start with a prefix, or follow a "
        "sentence pattern to their last word."
    )
    notes = [f"{MISSING}: no caption follows it.", *paper.notes(any(record["published"] for record in records))]
    return table_of(name, title, description, columns, blocks, records, PATTERN_COLUMNS, notes, provenance)


def _pattern(row: Row) -> list[Cell]:
    source = f"paper, {row['model']}" if row["model"] else row["source"]
    share = Cell(f"{100 * _share(row):.1f}", f"paper {row['published']}" if row["published"] else "")
    example = textwrap.shorten(row["example"], EXAMPLE, placeholder=" ...") if row["example"] is not None else MISSING
    return [Cell(row["role"]), Cell(source), Cell(row["pattern"]), share, Cell(example)]


def _patterns_to_show(rows: Sequence[Row], models: Sequence[str]) -> list[Row]:
    """Return for each role the first mined patterns, the best published pattern, and the patterns of `models`."""
    shown: list[Row] = []
    for role in ("prefix", "sentence"):
        of_role = [row for row in rows if row["role"] == role]
        shown += [row for row in of_role if row["source"] == "mined" and row["rank"] <= MINED]
        published = [row for row in of_role if row["source"] == "published"]
        best = max(published, key=_share, default=None)
        shown += [row for row in published if row is best or row["model"] in models]
    return shown


def _published_ratio(row: Row, paper: Reproduction, captioner: str, corpus: str) -> str | None:
    """Return the ratio that the paper prints for a pattern, if the captioner stands for the pattern's model."""
    own = row["model"] in paper.labels(captioner)
    theirs = paper.find("5", captioner, corpus, f"{row['role']} {row['rank']} ratio") if own else None
    return theirs.text if theirs else None


def _share(row: Row) -> float:
    """Return the share of captions that match a pattern: a prefix matches their start, a sentence the whole caption."""
    return row["start"] if row["role"] == "prefix" else row["whole"]


def unigrams_table(
    unigrams: ByCaptioner,
    provenance: Mapping[str, Any],
    name: str = "language_unigrams",
    title: str = "The most frequent words",
) -> Table:
    """Return the table of each captioner's most frequent words: a block for each corpus, ranks as rows."""
    columns = [Column("rank", numeric=False)]
    for captioner in unigrams:
        columns += [Column("word", group=captioner, numeric=False), Column("share, %", group=captioner)]
    blocks, records = [], []
    for corpus, captioners in _by_corpus(unigrams).items():
        lists: list[list[Cell]] = []
        for captioner, rows in captioners.items():
            words = [row for row in rows if (row["unit"], row["n"]) == ("word", 1)]
            top = sorted((row for row in words if row["rank"] <= TOP), key=lambda row: row["rank"])
            records += [{"captioner": captioner, **row} for row in top]
            lists += [[Cell(row["ngram"]) for row in top], [Cell(f"{100 * row['share']:.1f}") for row in top]]
        blocks.append(Block(side_by_side(lists), corpus))
    description = (
        f"The {TOP} most frequent words of the captions of each captioner, punctuation left out, and their share of "
        "all words."
    )
    kept, notes = ("captioner", "corpus", "rank", "ngram", "count", "share"), [f"{MISSING}: there are no more words."]
    return table_of(name, title, description, columns, blocks, records, (*kept, *PROVENANCE), notes, provenance)


def _by_corpus(tables: ByCaptioner) -> dict[str, dict[str, list[Row]]]:
    """Return the rows of every captioner on each corpus, with corpora in order of appearance."""
    corpora = dict.fromkeys(row["corpus"] for rows in tables.values() for row in rows)
    return {
        corpus: {captioner: [row for row in rows if row["corpus"] == corpus] for captioner, rows in tables.items()}
        for corpus in corpora
    }


def side_by_side(columns: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return ranked columns as rows of ranks; shorter columns are filled up. There is always at least one row."""
    rows = list(zip_longest(*columns, fillvalue=Cell(MISSING))) or [(Cell(MISSING),) * len(columns)]
    return [[Cell(str(rank)), *row] for rank, row in enumerate(rows, start=1)]
