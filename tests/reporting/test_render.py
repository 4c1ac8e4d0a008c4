"""One table in four formats: cells in their places, and every text escaped in the way of its format."""

# ruff: noqa: RUF001 (an en dash stands where a number is missing)

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from captionlab.reporting.tables.formats.csv import csv_text, read_records
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.formats.latex import escape_latex, latex
from captionlab.reporting.tables.formats.markdown import escape_markdown, markdown
from captionlab.reporting.tables.render import Block, Cell, Column, Table

NASTY = r"<b>a|b</b> & $x_1$ 50% #1 {c} [d](e) \par ~^ *f* `g` \"h\""
VOID = {"meta", "br", "link", "img", "hr", "input"}


def table(text: str = "x", **changes) -> Table:
    fields = {
        "name": "a_table", "title": text, "description": text,
        "columns": [Column("who", numeric=False), Column("this run", text, "G"), Column("paper", group="G")],
        "blocks": [
            Block([[Cell(text), Cell("1.5", "[1.0, 2.0]"), Cell("–", note="why")]], text),
            Block([[Cell("b"), Cell("–", note="other"), Cell("–", note="why")]], "second"),
        ],
        "records": [{"who": text, "value": 1.0 / 3.0, "missing": None}],
        "record_columns": ("who", "value", "missing"),
        "footnotes": [text],
    }  # fmt: skip
    return Table(**{**fields, **changes})


class Page(HTMLParser):
    """Elements of a page with their attributes, its text, and whether every element was closed."""

    def __init__(self, page: str):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.rows: list[list[tuple[str, dict, str]]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append((tag, dict(attributes), ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & {*self.open}:
            self.text += data
        if {"td", "th"} & set(self.open):
            tag, attributes, text = self.rows[-1][-1]
            self.rows[-1][-1] = (tag, attributes, text + data)


def test_csv_holds_the_records_in_full_precision(tmp_path):
    (tmp_path / "table.csv").write_text(csv_text(table(NASTY)))
    assert read_records(tmp_path / "table.csv") == [{"who": NASTY, "value": repr(1.0 / 3.0), "missing": ""}]


def test_html_escapes_every_text_and_closes_every_element():
    page = Page(html(table(NASTY)))
    assert "b" not in {tag for tag, _ in page.elements}
    # title, heading, description, column detail, block heading, cell, footnote, and the region's label
    assert page.text.count(NASTY) == 7
    assert [attributes["aria-label"] for tag, attributes in page.elements if tag == "div"] == [NASTY]


def test_html_table_can_be_navigated():
    page = Page(html(table()))
    upper, lower, *body = page.rows
    assert [(a["scope"], a.get("colspan"), a.get("rowspan")) for _, a, _ in upper] == [
        ("col", None, "2"), ("colgroup", "2", None),
    ]  # fmt: skip
    assert [a["scope"] for _, a, _ in lower] == ["col", "col"]
    assert [(tag, a.get("scope")) for tag, a, _ in body[0]] == [("th", "rowgroup")]
    assert [(tag, a.get("scope")) for tag, a, _ in body[1]] == [("th", "row"), ("td", None), ("td", None)]
    assert "caption" in {tag for tag, _ in page.elements}
    # self-contained: nothing is loaded from elsewhere, and the one link is to the index beside it
    assert not any("src" in attributes for _, attributes in page.elements)
    assert [a["href"] for _, a in page.elements if "href" in a] == ["index.html"]


def test_a_link_is_an_anchor_in_html_and_nothing_elsewhere():
    linked = [Block([[Cell("a"), Cell("1.5", "[1, 2]", link='../x.html#a="&b=<'), Cell("2")]])]
    page = Page(html(table(blocks=linked)))
    assert [a["href"] for tag, a in page.elements if tag == "a"] == ["index.html", '../x.html#a="&b=<']
    assert page.rows[2][1][2] == "1.5[1, 2]"
    plain = table(blocks=[Block([[Cell("a"), Cell("1.5", "[1, 2]"), Cell("2")]])])
    for write in (markdown, latex, csv_text):
        assert write(table(blocks=linked)) == write(plain)


def test_every_row_spans_all_columns():
    page = Page(html(table()))
    width = 3
    upper, lower, *body = page.rows
    from_above = sum(1 for _, a, _ in upper if a.get("rowspan"))
    assert sum(int(a.get("colspan", 1)) for _, a, _ in upper) == width
    assert len(lower) + from_above == width
    assert {sum(int(a.get("colspan", 1)) for _, a, _ in row) for row in body} == {width}


def test_reasons_become_lettered_footnotes_once_each():
    page = Page(html(table()))
    assert [text for _, _, text in page.rows[3]] == ["x", "1.5[1.0, 2.0]", "–a"]
    assert [text for _, _, text in page.rows[5]] == ["b", "–b", "–a"]
    lines = markdown(table()).splitlines()
    assert "| b | – (b) | – (a) |" in lines
    assert lines[-3:] == ["- (a) why", "- (b) other", "- x"]
    assert latex(table()).count(r"\textsuperscript{a}") == 3  # two cells and the note


def unescaped_pipes(line: str) -> int:
    return len(re.findall(r"(?<!\\)\|", line))


def test_markdown_keeps_its_columns_whatever_the_text():
    rows = [line for line in markdown(table(NASTY + "\nnext line")).splitlines() if line.startswith("|")]
    assert len(rows) == 6
    assert {unescaped_pipes(line) for line in rows} == {4}


def test_markdown_escapes_markup():
    assert escape_markdown("<i> a_b *c* | [t](u) & \\") == r"&lt;i&gt; a\_b \*c\* \| [t]\(u) &amp; \\"
    assert escape_markdown("84.8 [83.1, 86.2]") == "84.8 [83.1, 86.2]"


def test_latex_escapes_markup():
    assert escape_latex(r"50% a_b #1 & $x$ {c} \par [d] ~^") == (
        r"50\% a\_b \#1 \& \$x\$ \{c\} \textbackslash{}par {[}d{]} \textasciitilde{}\textasciicircum{}"
    )
    assert escape_latex("✓ ≠ ? ± ○ –") == r"$\checkmark$ $\neq$ ? $\pm$ $\circ$ --"


def test_latex_is_balanced_and_has_a_rule_over_each_group():
    text = latex(table(NASTY))
    bare = re.sub(r"\\[\\{}&%$#_]", "", text)
    assert bare.count("{") == bare.count("}")
    begun, ended = (re.findall(rf"\\{word}{{(\w+\*?)}}", text) for word in ("begin", "end"))
    assert sorted(begun) == sorted(ended)
    assert r" & \multicolumn{2}{c}{G} \\" in text
    assert r"\cmidrule(lr){2-3}" in text
    assert [word for word in ("toprule", "midrule", "bottomrule") if f"\\{word}" not in text] == []
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {2}


def test_a_wide_table_is_cut_between_groups_where_pages_do_not_scroll():
    groups = "AAABBBBCCCCC"
    columns = [Column("who", numeric=False), *(Column(f"{g}{i}", group=g) for i, g in enumerate(groups))]
    cells = [Cell("me"), *(Cell(f"v{i}") for i in range(len(groups)))]
    wide = table(columns=columns, blocks=[Block([cells])])
    rows = [line for line in markdown(wide).splitlines() if line.startswith("| me")]
    assert rows == [
        "| me | v0 | v1 | v2 | v3 | v4 | v5 | v6 |",
        "| me | v7 | v8 | v9 | v10 | v11 |",
    ]
    assert [line for line in latex(wide).splitlines() if line.startswith("me")] == [
        r"me & v0 & v1 & v2 & v3 & v4 & v5 & v6 \\",
        r"me & v7 & v8 & v9 & v10 & v11 \\",
    ]
    assert len([row for row in Page(html(wide)).rows if row[0][2] == "me"]) == 1


def test_a_row_of_another_width_is_an_error():
    with pytest.raises(ValueError, match="the row 'b' has 1 cells, the table 3 columns"):
        table(blocks=[Block([[Cell("b")]])])


def test_files_are_written_by_their_endings(tmp_path):
    write_table_files(table(), [tmp_path / f"new/a_table.{ending}" for ending in ("csv", "md", "tex", "html")])
    written = {path.name for path in (tmp_path / "new").iterdir()}
    assert written == {"a_table.csv", "a_table.md", "a_table.tex", "a_table.html"}
    assert (tmp_path / "new/a_table.html").read_text() == html(replace(table(), files=["csv", "md", "tex"]))
    with pytest.raises(ValueError, match=r"t\.xls: a table is written as"):
        write_table_files(table(), [tmp_path / "t.xls"])
