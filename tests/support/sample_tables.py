"""Small tables of every kind that papers have: wide, long, of texts, with pictures, with hostile names."""

import io
from dataclasses import replace

from PIL import Image

from captionlab.reporting.tables.render import MISSING, PAPER, Block, Cell, Column, Table, interval_cell

HOSTILE = "<img src=x onerror=alert(1)> 100% $x_1$ {\\input{x}} ~^ & # \N{GRINNING FACE} " + "unbreakable" * 6
# The place of the number that is farthest from the first one of the wide table, and of one of the long table.
FAR, BELOW = "corpus=a+corpus+8&subject=DiscriTune-4&measure=P%401", "corpus=corpus+5&subject=captioner-11"
PATTERN = "(NOUN.P)*+REL+((and)?+(REL)?+(NOUN.P)*)*+(DET|ADJ|NOUN_PHRASE_OF_CAPTION)?"


def _picture(colour: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (240, 180), colour).save(stream, "PNG")
    return stream.getvalue()


def _number(value: float, best: bool = False, place: str = "") -> Cell:
    return replace(interval_cell((value, value - 1.5, value + 1.5), ".1f"), best=best, place=place)


def table_of_kind(name: str, columns=(), blocks=(), title: str = "", **others) -> Table:
    """A table with what is asked, else of two columns and rows."""
    columns = columns or [Column("captioner", numeric=False), Column("CIDEr")]
    blocks = blocks or [Block([[Cell("one"), _number(9.5)], [Cell("two"), _number(10.25, best=True)]])]
    made = ("Made from the config 'made-up', seed 1.", "Made from results/reporting/summary.parquet (0123abcd).")
    return Table(
        name, title or f"A table: {name}", "What it shows.", columns, blocks, [], (), **{"made": made, **others}
    )


def _wide() -> Table:
    corpora = [f"a corpus {place} (n = 300)" for place in range(9)]
    parts = [("retriever-a", True), (PAPER, True), ("retriever-b", True)]
    columns = [Column("captioner", numeric=False)]
    columns += [
        Column(heading, "gave the reward" if heading != PAPER else "", of) for of in corpora for heading, _ in parts
    ]
    rows = []
    for row in range(5):
        cells = [Cell(f"DiscriTune-{row}", "main, beam5")]
        for place in range(len(corpora)):
            number = _number(70 + row + place, row == 4, FAR if (row, place) == (4, 8) else "")
            cells += [number, Cell("84.8 ○", "±3.0", value=84.8), _number(50.0 - row)]
        rows.append(cells)
    return table_of_kind("wide", columns, [Block(rows)])


def _long() -> Table:
    columns = [Column("captioner", numeric=False), Column("n"), Column("CIDEr"), Column("perplexity")]
    blocks = []
    for corpus in range(6):
        rows = [
            [
                Cell(f"captioner-{r}"),
                Cell("300"),
                _number(100.0 - r),
                _number(9.0 + r, place=BELOW if (corpus, r) == (5, 11) else ""),
            ]
            for r in range(12)
        ]
        rows.append(
            [Cell("human"), Cell("300"), Cell(MISSING, note="Their captions are the references."), _number(12.0)]
        )
        blocks.append(Block(rows, f"corpus {corpus}, test"))
    return table_of_kind("long", columns, blocks)


def _texts() -> Table:
    columns = [Column(name, numeric=False) for name in ("role", "source", "pattern")]
    columns += [Column("share, %"), Column("example", numeric=False)]
    example = Cell("there is a woman in a purple dress and a brown traffic light on a road " * 2)
    row = [Cell("sentence"), Cell("paper, UNITER"), Cell(PATTERN), Cell("50.7", "paper 51.2"), example]
    return table_of_kind("patterns", columns, [Block([row] * 9, f"toy-coco: captioner {place}") for place in range(4)])


def _examples() -> Table:
    columns = [Column(name, numeric=False) for name in ("captions", "reference", "generated")]
    rows = [[Cell(kind), Cell("a man on a horse"), Cell("a horse in a field")] for kind in ("of objects", "of scenes")]
    blocks = [Block(rows, f"image {colour}", _picture(colour)) for colour in ("teal", "orange")]
    return table_of_kind("examples", columns, blocks)


def _hostile() -> Table:
    columns = [Column(HOSTILE, HOSTILE, numeric=False), Column("value", HOSTILE, HOSTILE)]
    rows = [[Cell(HOSTILE, HOSTILE, HOSTILE), Cell("1", HOSTILE)] for _ in range(2)]
    return table_of_kind("hostile", columns, [Block(rows, HOSTILE)], title=HOSTILE, footnotes=[HOSTILE])


TABLES = (table_of_kind("pair"), _wide(), _long(), _texts(), _examples(), _hostile())
