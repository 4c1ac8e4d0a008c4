"""Tables in LaTeX: compiled in papers of one and of two columns, nothing wider than its line or longer than a page."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.latex_papers import NEEDS_LATEX, PAPERS, compiled
from support.sample_tables import TABLES, table_of_kind

from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.formats.latex import latex
from captionlab.reporting.tables.render import Block, Cell, Column, Table


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("latex")
    for table in TABLES:
        write_table_files(table, [made / f"{table.name}.tex"])
    return made


@NEEDS_LATEX
@pytest.mark.parametrize("paper", PAPERS)
def test_every_kind_of_table_fits_a_paper_and_two_pages(folder, paper):
    names = [table.name for table in TABLES]
    wrong, pages = compiled(folder, names, paper)
    assert wrong == []
    assert [*pages] == names
    assert max(pages.values()) <= 2


@NEEDS_LATEX
def test_what_does_not_fit_is_seen(tmp_path):
    (tmp_path / "wide.tex").write_text(r"\noindent\rule{40cm}{1pt}", encoding="utf-8")
    (tmp_path / "long.tex").write_text(r"\begin{table}\rule{1pt}{40cm}\end{table}", encoding="utf-8")
    found, pages = compiled(tmp_path, ["wide", "long"], "article")
    assert pages == {"wide": 1, "long": 1}
    assert [line.split(":")[0] for line in found] == ["table wide", "table long"]


def test_a_caption_has_no_second_number():
    text = latex(table_of_kind("pair", title="DiscriTune, table 1: text-to-image retrieval"))
    assert r"\caption{Text-to-image retrieval. What it shows.}" in text
    assert "As in DiscriTune, table 1." in text


def test_pictures_are_beside_the_table_that_shows_them(folder):
    text = (folder / "examples.tex").read_text(encoding="utf-8")
    shown = re.findall(r"\\includegraphics\[[^]]*\]\{(.*?)\}", text)
    assert shown == ["pictures/examples-1.png", "pictures/examples-2.png"]
    pictures = [block.image for table in TABLES if table.name == "examples" for block in table.blocks]
    assert [(folder / name).read_bytes() for name in shown] == pictures
    assert r"\graphicspath" in text.split(r"\begin", 1)[0]


OTHERS = {"chinese": "一只狗在海边奔跑", "arabic": "كلب يركض على الشاطئ", "hindi": "समुद्र तट पर एक कुत्ता"}


def of_scripts() -> Table:
    """A table of captions in several scripts."""
    columns = [Column("image", numeric=False), Column("caption", numeric=False)]
    rows = [[Cell(name), Cell(text)] for name, text in {**OTHERS, "german": "Ein Hund läuft über 狗 am Strand"}.items()]
    return Table("scripts", "Captions", "In several languages.", columns, [Block(rows, "狗")], [], ())


def test_texts_in_other_scripts_are_left_out_with_a_note():
    text = latex(of_scripts())
    assert not any(written in text for written in ("狗", "كلب", "कुत्ता"))
    assert text.count("other script") == len(OTHERS) + 1 + 1, "cells, a heading, and the note"
    assert "scripts.csv has it" in text
    assert r"Ein Hund läuft über \texttt{U+72D7} am Strand" in text
    latin = latex(table_of_kind("pair", title="Plain"))
    assert "other script" not in latin


@NEEDS_LATEX
def test_a_table_with_other_scripts_compiles(tmp_path):
    write_table_files(of_scripts(), [tmp_path / "scripts.tex"])
    wrong, pages = compiled(tmp_path, ["scripts"], "article")
    assert wrong == []
    assert pages == {"scripts": 1}


def test_a_text_in_another_script_in_a_row_that_is_left_out_has_no_note():
    columns = [Column("rank", numeric=False), Column("text", numeric=False)]
    rows = [[Cell(f"r{i}"), Cell("a dog")] for i in range(500)]
    text = latex(Table("words", "Words", "Many rows.", columns, [Block([*rows, [Cell("last"), Cell("狗")]])], [], ()))
    assert "other script" not in text
    assert "Printed are" in text


def test_a_long_table_has_every_row_once_in_floats_that_name_it():
    columns = [Column("rank", numeric=False), Column("value")]
    blocks = [Block([[Cell(f"r{b}x{i}"), Cell(str(i))] for i in range(15)], f"block {b}") for b in range(4)]
    text = latex(Table("long", "Long", "Many rows.", columns, blocks, [], ()))
    assert re.findall(r"^(r\dx\d+) &", text, re.MULTILINE) == [f"r{b}x{i}" for b in range(4) for i in range(15)]
    floats = text.split(r"\begin{table}")[1:]
    assert len(floats) > 1
    assert all(r"Table~\ref{tab:long}, continued" in one for one in floats[1:])
    assert [one.count(r"\caption") for one in floats] == [1] + [0] * (len(floats) - 1)
    # A heading stands above the rows of its block wherever these begin anew.
    assert all(rf"\textit{{block {b}}}" in one for one in floats for b in re.findall(r"^r(\d)x", one, re.MULTILINE))


@pytest.mark.parametrize(("blocks", "rows"), [(4, 40), (1, 500), (90, 3)])
def test_a_table_of_more_than_two_pages_has_its_first_rows_and_names_the_csv(blocks, rows):
    columns = [Column("rank", numeric=False), Column("value")]
    made = [Block([[Cell(f"r{b}x{i}"), Cell(str(i))] for i in range(rows)], f"block {b}") for b in range(blocks)]
    text = latex(Table("words", "Words", "Many rows.", columns, made, [], ()))
    printed = [(int(b), int(i)) for b, i in re.findall(r"^r(\d+)x(\d+) &", text, re.MULTILINE)]
    most = max(i for _, i in printed) + 1
    assert printed == [(b, i) for b in range(max(b for b, _ in printed) + 1) for i in range(most)]
    assert text.count(r"\begin{table}") == 2
    assert f"Printed are {len(printed)} of {blocks * rows} rows" in text
    assert "words.csv has all" in text


def test_a_table_of_two_pages_says_nothing_of_rows():
    made = [Block([[Cell(f"r{i}"), Cell(str(i))] for i in range(60)])]
    text = latex(Table("words", "Words", "Rows.", [Column("rank", numeric=False), Column("value")], made, [], ()))
    assert len(re.findall(r"^r\d+ &", text, re.MULTILINE)) == 60
    assert "Printed are" not in text


def many_columns(rows: int, measured: int) -> Table:
    """A table of three panels with `rows` rows in blocks of four, of which `measured` have values of this run."""
    columns = [
        Column("row", numeric=False),
        *(Column(head, group=g) for g in "abcdefghijkl" for head in ("this run", "paper")),
    ]
    values = {True: [Cell("12.3"), Cell("45.6")], False: [Cell("\N{EN DASH}"), Cell("45.6")]}
    made = [[Cell(f"r{i}"), *12 * values[i < measured]] for i in range(rows)]
    blocks = [Block(made[i : i + 4], f"block {i}") for i in range(0, rows, 4)]
    notes = [f"remark {i} {30 * 'word '}" for i in range(8)]
    return Table("pieces", "Pieces", "Measures.", columns, blocks, [], (), notes)


@pytest.mark.parametrize(
    ("rows", "measured", "printed", "note"),
    [
        (12, 8, 12, ""),
        (44, 12, 12, "Printed are 12 of 44 rows, those with a value of this run"),
        (44, 44, 7, "Printed are 7 of 44 rows, the first of each of the first 7 groups;"),
        (16, 4, 10, "Printed are 10 of 16 rows, those with a value of this run and the first 2 others of each group"),
        (20, 2, 7, "Printed are 7 of 20 rows, those with a value of this run and the first other of each group"),
    ],
)
def test_a_table_of_too_many_pages_leaves_out_rows_without_a_value_first(rows, measured, printed, note):
    text = latex(many_columns(rows, measured))
    shown = [*dict.fromkeys(re.findall(r"^(r\d+) &", text, re.MULTILINE))]
    assert len(shown) == printed
    assert ("Printed are" in text) == bool(note)
    assert note in text
    assert text.count(r"\begin{table*}") <= 2
    assert re.findall(r"remark (\d)", text) == [*"01234567"]


def test_the_first_rows_with_a_value_are_called_that():
    table = many_columns(176, 176)
    blocks = [Block([*many_columns(4, 0).blocks[0].rows, *block.rows], block.heading) for block in table.blocks]
    text = latex(replace(table, blocks=blocks))
    shown = [*dict.fromkeys(re.findall(r"^(r\d+) &", text, re.MULTILINE))]
    assert "r0" in shown
    assert f"of {8 * 44} rows, the first of each of the first 7 groups with a value of this run" in text


def test_a_table_with_pictures_keeps_all_its_blocks_in_order():
    table = many_columns(44, 12)  # its first blocks have values of this run
    pictured = [replace(block, image=str(place).encode()) for place, block in enumerate(reversed(table.blocks), 1)]
    text = latex(replace(table, blocks=pictured))
    assert [*dict.fromkeys(re.findall(r"pictures/pieces-(\d+)\.png", text))] == ["1", "2"]
    assert [*dict.fromkeys(re.findall(r"^(r\d+) &", text, re.MULTILINE))] == ["r40", "r36"]
    assert "with a value of this run" not in text


@NEEDS_LATEX
def test_rows_of_a_page_are_scaled_before_any_is_left_out(tmp_path):
    columns = [Column("row", numeric=False), *(Column(f"value {i}") for i in range(14))]
    blocks = [Block([[Cell(f"r{b}x{i}"), *14 * [Cell("12.3")]] for i in range(5)], f"block {b}") for b in range(7)]
    table = Table("statistics", "Statistics", "Measures.", columns, blocks, [], ())
    text = latex(table)
    assert len({*re.findall(r"^(r\dx\d) &", text, re.MULTILINE)}) == 35
    assert "Printed are" not in text
    write_table_files(table, [tmp_path / "statistics.tex"])
    for paper in PAPERS:
        wrong, pages = compiled(tmp_path, ["statistics"], paper)
        assert wrong == []
        assert pages["statistics"] <= 2


def test_of_a_caption_of_thousands_of_words_the_first_are_printed_and_their_number():
    cells = [
        Cell(" ".join(f"{letter}{place}" for place in range(number))) for letter, number in (("x", 5000), ("y", 99))
    ]
    table = Table(
        "long", "Long", "Captions.", [Column("caption", numeric=False)], [Block([[c] for c in cells])], [], ()
    )
    text = latex(table)
    assert "x99 … (5,000 words)" in " ".join(text.split())
    assert "x100" not in text
    assert "y98" in text
