"""Table of the paper: CIDEr of each captioner, with the published number beside it."""

from captionlab.reporting.claims.reading import read_rows
from captionlab.reporting.runs.published import read_published
from captionlab.reporting.runs.values import means
from captionlab.reporting.tables.render import MISSING, PAPER, Block, Cell, Column, Table
from captionlab.storage.schemas import SUMMARY

COLUMNS = (Column("captioner", numeric=False), Column("corpus", numeric=False), Column("value"), Column(PAPER))
RECORDS = ("captioner", "corpus", "value", "published")


def scores(inputs, params, provenance):
    """Yield the table."""
    published, rows, records = read_published(inputs["published"]), [], []
    for row in means(read_rows(inputs["summary"], SUMMARY)):
        captioner, corpus, value = row["captioner"], row["corpus"], row["value"]
        if row["metric"] == "CIDEr":
            printed = published.find("1", captioner, corpus, "CIDEr")
            shown = printed.text if printed else MISSING
            rows.append([Cell(captioner), Cell(corpus), Cell(f"{value:.1f}"), Cell(shown)])
            records.append(dict(zip(RECORDS, (captioner, corpus, value, printed and printed.value), strict=True)))
    yield Table("NAME_table1_scores", "Rhymes", "CIDEr.", COLUMNS, [Block(rows)], records, RECORDS)


TABLES = (scores,)
