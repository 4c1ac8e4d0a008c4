"""Addresses of table pages (views and cells), the filter of claims, and tables on paper, in a real browser."""

import base64
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from support.chromium import Page, program
from support.sample_tables import TABLES

from captionlab.reporting.claims.claim_cards import claim_cards
from captionlab.reporting.claims.claims import RECORD_COLUMNS
from captionlab.reporting.tables.formats.files import write_table_files, write_text
from captionlab.reporting.tables.render import Block, Cell, Column, Table

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")

BY_NAME = {table.name: table for table in TABLES}
FIRST = "[...document.querySelectorAll('tbody tr')].map((row) => row.cells[0].innerText.split('\\n')[0])"
SHOWN = "[...document.querySelectorAll('thead th:not([hidden])')].map((head) => head.innerText.split('\\n')[0].trim())"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("run") / "results" / "tables"
    for table in TABLES:
        write_table_files(table, [place / f"{table.name}.{ending}" for ending in ("csv", "md", "html")])
    figured = replace(BY_NAME["long"], name="figured", figures={"Figure 3: <lengths>": "../figures/paper_figure3.html"})
    write_table_files(figured, [place / "figured.html"])
    headings = ("judged for", "verdict", "as claimed", "evidence")
    columns = [
        *(Column(text, numeric=False) for text in headings),
        Column("smallest difference", "in the unit", numeric=False),
    ]
    of_claim = {"paper": "probing", "section": "4.1"}
    records, blocks = [], []
    for claim, verdicts in (("better", ("holds", "mixed")), ("longer", ("does not hold",))):
        known = {**of_claim, "claim": claim, "statement": f"Captions are {claim}."}
        records += [{**known, "verdict": verdict} for verdict in verdicts]
        texts = [("COCO", verdict, "1 of 2", "COCO +0.3 [+0.1, +0.5]", "7.18") for verdict in verdicts]
        blocks.append(Block([[*map(Cell, row)] for row in texts], claim))
    table = Table("claims", "Claims", "What papers claim.", columns, blocks, records, RECORD_COLUMNS, (), ["Made."])
    write_text(place / "claims.html", claim_cards(table))
    return place


def look(page: Page, folder: Path, name: str, rest: str = "") -> None:
    page.open((folder / f"{name}.html").as_uri() + rest)


def address(page: Page) -> str:
    return str(page.run("location.href"))


def test_the_order_of_rows_is_in_the_address_and_back_takes_it_away(page, folder):
    look(page, folder, "long")
    before = page.run(FIRST)
    page.run("document.querySelectorAll('button.sort')[3].click()")
    ordered = page.run(FIRST)
    assert ordered != before
    copied = address(page)
    assert "sort=3+descending" in copied
    page.run("document.querySelectorAll('button.sort')[3].click()")
    page.run("history.back()")
    page.wait("location.search.includes('descending')")
    assert page.run(FIRST) == ordered
    page.run("history.back()")
    page.wait("location.search === ''")
    assert page.run(FIRST) == before
    page.open(copied)
    assert page.run(FIRST) == ordered


def test_columns_that_are_shown_are_in_the_address(page, folder):
    look(page, folder, "wide")
    standard = page.run(SHOWN)
    for place in (0, 3):
        page.run(f"document.querySelectorAll('.switches input')[{place}].click()")
    chosen, copied = page.run(SHOWN), address(page)
    assert chosen != standard
    page.open(copied)
    assert page.run(SHOWN) == chosen
    for place in (0, 3):
        page.run(f"document.querySelectorAll('.switches input')[{place}].click()")
    assert (page.run(SHOWN), page.run("location.search")) == (standard, "")


@pytest.mark.parametrize("search", ["?sort=99+descending", "?sort=x", "?columns=nothing+like+this", "?sort=1+sideways"])
def test_a_wrong_address_shows_the_table(page, folder, search):
    look(page, folder, "wide", search)
    assert page.run(FIRST)[1:] != []
    assert page.errors == []


def test_every_cell_with_a_number_has_an_address_of_its_own(page, folder):
    for table in TABLES:
        ids = table.ids()
        assert len(set(ids.values())) == len(ids)
        look(page, folder, table.name)
        there = page.run("[...document.querySelectorAll('table [id]')].map(({ id }) => id)")
        assert sorted(there) == sorted(ids.values())
    # The address stays the same when a row is added before.
    long = BY_NAME["long"]
    more = replace(long, blocks=[Block([long.blocks[0].rows[0], *block.rows], block.heading) for block in long.blocks])
    assert set(long.ids().values()) <= set(more.ids().values())


def test_an_address_shows_a_cell_of_a_hidden_column_of_the_paper(page, folder):
    look(page, folder, "wide")
    place = "[...document.querySelectorAll('td.paper[id]')][0]"
    cell = page.run(f"{place}.id")
    look(page, folder, "wide", f"?columns=nothing#{cell}")
    page.wait("document.querySelector('td:target')")
    assert page.run("document.querySelector('td:target').hidden") is False
    assert page.errors == []


def test_a_click_names_a_cell_and_arrow_keys_go_on_from_there(page, folder):
    look(page, folder, "long")
    cell = page.run("[...document.querySelectorAll('td[id]')].findIndex((one) => !one.querySelector('a'))")
    page.run(f"document.querySelectorAll('td[id]')[{cell}].click()")
    page.wait("document.querySelector('td:target')")
    first = page.run("document.querySelector('td:target').id")
    assert address(page).endswith(f"#{first}")
    page.run("document.querySelector('.scroll').focus()")
    page.send("Input.dispatchKeyEvent", type="keyDown", key="ArrowDown")
    page.wait(f"document.querySelector('td:target').id !== {first!r}")
    below = page.run(
        "[...document.querySelectorAll('td:target')].map((one) => [one.cellIndex, one.parentElement.rowIndex])"
    )
    above = page.run(f"((one) => [one.cellIndex, one.parentElement.rowIndex])(document.getElementById({first!r}))")
    assert below[0][0] == above[0]
    assert below[0][1] > above[1]


def test_the_link_of_a_cell_is_under_the_pointer_and_one_stop_of_the_tab_key(page, folder):
    look(page, folder, "long")
    cell = page.run("[...document.querySelectorAll('td[id]')].findIndex((one) => !one.querySelector('a'))")
    for place in (cell, cell + 1):
        page.run(
            f"document.querySelectorAll('td[id]')[{place}].dispatchEvent(new Event('pointerover', {{bubbles: true}}))"
        )
        link = "document.querySelectorAll('a.address')"
        assert page.run(f"{link}.length") == 1
        assert page.run(f"{link}[0].hash === `#${{{link}[0].parentElement.id}}`")
        assert page.run(f"{link}[0].parentElement === document.querySelectorAll('td[id]')[{place}]")
    page.run("document.querySelector('a.address').click()")
    page.wait("document.querySelector('td:target a.address')")


def test_enter_names_the_first_cell(page, folder):
    look(page, folder, "pair")
    page.run("document.querySelector('.scroll').focus()")
    page.key("Enter", "\r")
    page.wait("document.querySelector('table :target')")
    assert page.run("document.querySelector('table :target').id === document.querySelector('tbody [id]').id")


def test_a_table_links_its_other_formats_and_figures(page, folder):
    look(page, folder, "figured")
    links = page.run(
        "[...document.querySelectorAll('.files a')].map((one) => [one.innerText, one.getAttribute('href')])"
    )
    assert links == [["Figure 3: <lengths>", "../figures/paper_figure3.html"]]
    look(page, folder, "long")
    assert page.run("[...document.querySelectorAll('.files a')].map((one) => one.getAttribute('href'))") == [
        "long.csv",
        "long.md",
    ]


def test_the_filter_of_claims_shows_claims_whole(page, folder):
    look(page, folder, "claims")
    page.button("✓ 1 holds")
    shown = (
        "[...document.querySelectorAll('.judged')].filter((one) => one.offsetParent).map((one) => one.dataset.verdict)"
    )
    assert page.run(shown) == ["holds", "mixed"]
    assert page.run("[...document.querySelectorAll('.chosen')].map((one) => one.dataset.verdict)") == ["holds"]
    copied = address(page)
    assert "verdict=holds" in copied
    page.button("✗ 1 does not hold")
    assert page.run(shown) == ["holds", "mixed", "does not hold"]
    page.run("history.back()")
    page.wait("!document.querySelector('#probing-longer').offsetParent")
    page.open(copied)
    assert page.run(shown) == ["holds", "mixed"]


def test_what_a_claim_could_show_has_a_unit_and_evidence_is_said_once(page, folder):
    look(page, folder, "claims")
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    text = page.run("document.querySelector('.judged details').innerText")
    assert text.count("Evidence") == 1
    assert "Smallest difference in the unit" in text


def text_on_paper(page: Page, folder: Path, name: str, tmp_path: Path) -> str:
    """Text of a page that is printed to PDF, in the layout of the paper."""
    look(page, folder, name)
    pdf = page.send("Page.printToPDF", preferCSSPageSize=True)["data"]
    (tmp_path / "page.pdf").write_bytes(base64.b64decode(pdf))
    done = subprocess.run(["pdftotext", "-layout", "page.pdf", "-"], cwd=tmp_path, capture_output=True, check=True)
    return done.stdout.decode()


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext: apt-get install poppler-utils")
def test_a_table_on_paper_has_every_column(page, folder, tmp_path):
    table = BY_NAME["wide"]
    text = " ".join(text_on_paper(page, folder, "wide", tmp_path).split())
    numbers = {
        cell.text for block in table.blocks for row in block.rows for cell in row if re.fullmatch(r"[\d.]+", cell.text)
    }
    assert len(numbers) > 10
    assert sorted(number for number in numbers if number not in text) == []
    for group in {column.group for column in table.columns}:
        assert group in text
    # Afterwards the page is as before.
    assert page.run("document.querySelectorAll('table').length") == 1
    assert "a corpus 8 (n = 300)" not in page.run(SHOWN)


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext: apt-get install poppler-utils")
def test_what_is_folded_is_on_paper(page, folder, tmp_path):
    assert "COCO +0.3 [+0.1, +0.5]" in text_on_paper(page, folder, "claims", tmp_path)
    assert page.run("document.querySelectorAll('details[open]').length") == 0


def test_the_standard_columns_fit_beside_the_scrollbar_of_a_long_page(page, folder):
    page.size(1400, 300, False)
    look(page, folder, "wide")
    assert page.run("region.scrollWidth <= region.clientWidth")
    page.size(1400, 900, False)
