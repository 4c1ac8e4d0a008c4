"""Tables on language: statistics, patterns and words of captioners, for papers' tables too.

Rows come as dictionaries of the kinds in `captionlab.language.schemas`, in the order of the captioners.
What a paper printed stands beside a number only where the config says which captioner and corpus stand for the paper's.
"""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.reporting.footnotes import run_notes
from captionlab.reporting.published import PublishedValue
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.reproduction import Reproduction
from captionlab.reporting.sheets import PROVENANCE

Row = Mapping[str, Any]
ByCaptioner = Mapping[str, Sequence[Row]]

TOP = 10
MINED = 2  # mined patterns of each role that are shown; the CSV has all
EXAMPLE = 200  # characters of an example that are shown


@dataclass(frozen=True)
class Shown:
    """How a statistic is shown: group and heading of its column, decimals and factor."""

    group: str
    heading: str
    decimals: int
    factor: float = 1.0


STATISTICS_SHOWN = {
    "perplexity": Shown("sentence level", "perplexity", 1),
    "mean_length": Shown("sentence level", "mean length", 1),
    "nouns": Shown("token level", "nouns", 1),
    "distinct_nouns": Shown("token level", "non-repeated nouns", 1),
    "types": Shown("variety", "types", 0),
    "distinct_1": Shown("variety", "distinct-1, %", 1, 100.0),
    "distinct_2": Shown("variety", "distinct-2, %", 1, 100.0),
    "distinct_3": Shown("variety", "distinct-3, %", 1, 100.0),
    "repeated_share": Shown("variety", "repeated words, %", 1, 100.0),
    "perplexity_without_end": Shown("more on fluency", "perplexity without ends", 1),
    "mean_perplexity": Shown("more on fluency", "mean over captions", 1),
    "unknown_share": Shown("more on fluency", "unknown words, %", 1, 100.0),
    "captions": Shown("counts", "captions", 0),
    "empty_captions": Shown("counts", "empty", 0),
    "tokens": Shown("counts", "tokens", 0),
}


def statistics_table(statistics: ByCaptioner, provenance: Mapping[str, Any]) -> Table:
    """Every statistic: a block for each corpus, captioners as rows."""
    there = list(dict.fromkeys(row["statistic"] for rows in statistics.values() for row in rows))
    names = [name for name in STATISTICS_SHOWN if name in there]
    if unknown := sorted({*there} - {*names}):
        raise ValueError(f"the statistic {unknown[0]!r} has no column: add it to STATISTICS_SHOWN in {__name__}")
    blocks, records = [], []
    for corpus in corpora_of(statistics):
        lines = []
        for captioner, rows in statistics.items():
            found = {row["statistic"]: row for row in rows if row["corpus"] == corpus}
            if not found:
                continue
            line = [Cell(captioner)]
            for name in names:
                shown, row = STATISTICS_SHOWN[name], found.get(name)
                if row is None:
                    line.append(Cell(MISSING, note=f"{name} was not measured."))
                    continue
                if row["value"] is None:
                    line.append(Cell(MISSING, note=row["note"] or "It has no meaning for these captions."))
                else:
                    line.append(Cell(f"{row['value'] * shown.factor:.{shown.decimals}f}"))
                records.append({"captioner": captioner, **row})
            lines.append(line)
        blocks.append(Block(lines, corpus))
    return table_of(
        "language_statistics",
        "Statistics of the captions",
        "Fluency, length, nouns and variety of the captions of each captioner. Perplexity is that of a trigram model "
        "over all words of a corpus; lengths and nouns are means per caption.",
        [
            Column("captioner", numeric=False),
            *(Column(STATISTICS_SHOWN[name].heading, group=STATISTICS_SHOWN[name].group) for name in names),
        ],
        blocks,
        records,
        ("captioner", "corpus", "statistic", "value", "n", "note"),
        [],
        provenance,
    )


def patterns_table(
    patterns: ByCaptioner,
    provenance: Mapping[str, Any],
    paper: Reproduction | None = None,
    name: str = "language_patterns",
    title: str = "Prefixes and sentence patterns",
) -> Table:
    """Most frequent prefixes and sentence patterns: a block for each corpus and captioner."""
    paper = paper or Reproduction({})
    blocks, records = [], []
    for corpus in corpora_of(patterns):
        for captioner, rows in patterns.items():
            here = [row for row in rows if row["corpus"] == corpus]
            lines = []
            for row in _patterns_to_show(here, paper.labels(captioner)):
                theirs = _published_ratio(row, paper, captioner, corpus)
                source = f"paper, {row['model']}" if row["model"] else row["source"]
                lines.append(
                    [
                        Cell(row["role"]),
                        Cell(source),
                        Cell(row["pattern"]),
                        Cell(f"{100 * _share(row):.1f}", f"paper {theirs.text}" if theirs else ""),
                        Cell(
                            textwrap.shorten(row["examples"][0], EXAMPLE, placeholder=" ...")
                            if row["examples"]
                            else MISSING
                        ),
                    ]
                )
            if lines:
                blocks.append(Block(lines, f"{corpus}: {captioner}"))
            for row in here:
                theirs = _published_ratio(row, paper, captioner, corpus)
                example = row["examples"][0] if row["examples"] else None
                printed = theirs.text if theirs else None
                records.append({"captioner": captioner, **row, "example": example, "published": printed})
    return table_of(
        name,
        title,
        f"The {MINED} most frequent prefixes and sentence patterns mined from the captions of each captioner, and the "
        "paper's pattern that fits them best. The share is that of captions that start with a prefix, or follow a "
        "sentence pattern to their last word.",
        [
            Column("role", numeric=False),
            Column("source", numeric=False),
            Column("pattern", numeric=False),
            Column("share, %"),
            Column("example", numeric=False),
        ],
        blocks,
        records,
        (
            "captioner", "corpus", "source", "model", "role", "rank", "pattern", "start", "whole", "n", "example",
            "published",
        ),
        [f"{MISSING}: no caption follows it.", *paper.notes(any(record["published"] for record in records))],
        provenance,
    )  # fmt: skip


def _patterns_to_show(rows: Sequence[Row], models: Sequence[str]) -> list[Row]:
    """For each role the first mined patterns, the paper's with the largest share, and the paper's of these models."""
    shown: list[Row] = []
    for role in ("prefix", "sentence"):
        of_role = [row for row in rows if row["role"] == role]
        shown += [row for row in of_role if row["source"] == "mined" and row["rank"] <= MINED]
        published = [row for row in of_role if row["source"] == "published"]
        best = max(published, key=_share, default=None)
        shown += [row for row in published if row is best or row["model"] in models]
    return shown


def _published_ratio(row: Row, paper: Reproduction, captioner: str, corpus: str) -> PublishedValue | None:
    """What the paper prints for a pattern of the model that the captioner stands for."""
    if row["model"] not in paper.labels(captioner):
        return None
    return paper.find("5", captioner, corpus, f"{row['role']} {row['rank']} ratio")


def _share(row: Row) -> float:
    """Share of captions that a pattern describes: a prefix their start, a sentence the whole."""
    return row["start"] if row["role"] == "prefix" else row["whole"]


def unigrams_table(
    unigrams: ByCaptioner,
    provenance: Mapping[str, Any],
    name: str = "language_unigrams",
    title: str = "The most frequent words",
) -> Table:
    """The most frequent words of each captioner, side by side: a block for each corpus, ranks as rows."""
    blocks, records = [], []
    for corpus in corpora_of(unigrams):
        lists = []
        for captioner, rows in unigrams.items():
            words = [row for row in rows if (row["corpus"], row["unit"], row["n"]) == (corpus, "word", 1)]
            top = sorted((row for row in words if row["rank"] <= TOP), key=lambda row: row["rank"])
            records += [{"captioner": captioner, **row} for row in top]
            lists.append([(Cell(row["ngram"]), Cell(f"{100 * row['share']:.1f}")) for row in top])
        blocks.append(Block(side_by_side(lists, [2] * len(lists)), corpus))
    return table_of(
        name,
        title,
        f"The {TOP} most frequent words of the captions of each captioner, punctuation left out, and their share of "
        "all words.",
        _column_pairs(unigrams, "word", "share, %"),
        blocks,
        records,
        ("captioner", "corpus", "rank", "ngram", "count", "share"),
        [f"{MISSING}: there are no more words."],
        provenance,
    )


def corpora_of(tables: ByCaptioner) -> list[str]:
    """Corpora in the order in which they occur."""
    return list(dict.fromkeys(row["corpus"] for rows in tables.values() for row in rows))


def _column_pairs(captioners: Iterable[str], text: str, number: str) -> list[Column]:
    """A column of ranks, then for each captioner one of texts and one of numbers."""
    pairs = [(Column(text, group=name, numeric=False), Column(number, group=name)) for name in captioners]
    return [Column("rank", numeric=False), *(column for pair in pairs for column in pair)]


def side_by_side(lists: Sequence[Sequence[tuple[Cell, ...]]], widths: Sequence[int]) -> list[list[Cell]]:
    """Ranked lists of so many cells as rows of ranks; one that is shorter is filled up. There is always a row."""
    rows = []
    for place in range(max([1, *map(len, lists)])):
        parts = [
            of[place] if place < len(of) else (Cell(MISSING),) * width for of, width in zip(lists, widths, strict=True)
        ]
        rows.append([Cell(str(place + 1)), *(cell for part in parts for cell in part)])
    return rows


def table_of(
    name: str,
    title: str,
    description: str,
    columns: Sequence[Column],
    blocks: Sequence[Block],
    records: Sequence[Mapping[str, Any]],
    record_columns: Sequence[str],
    notes: Sequence[str],
    provenance: Mapping[str, Any],
) -> Table:
    """A table whose records say where they were made, and have these columns only."""
    made = {key: provenance.get(key) for key in PROVENANCE}
    kept = [{**{key: record[key] for key in record_columns}, **made} for record in records]
    footnotes = [*notes, *run_notes(provenance)]
    return Table(name, title, description, columns, blocks, kept, (*record_columns, *PROVENANCE), footnotes)
