"""The page of own tables in a browser: the same tables as the workflow's, the address, keys, widths, axe."""

import json
import struct
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import axe_core_python
import pytest
from support.chromium import Page, program
from support.own_numbers import CHOICES, HUMAN, MADE, ODD, PLAIN, SEEDED, choice, numbers

from captionlab.config.own_tables import WIDTHS, Choice, read_choice
from captionlab.reporting.tables.formats.csv import csv_text
from captionlab.reporting.tables.formats.files import write_text
from captionlab.reporting.tables.formats.markdown import markdown
from captionlab.reporting.tables.formats.own_latex import own_latex
from captionlab.reporting.tables.own_page import make_table_page
from captionlab.reporting.tables.own_table import label_of, own_table
from captionlab.reporting.tables.render import remarks_of

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
SHOWN = "[...document.querySelectorAll('main table tr')].map((row) => [...row.cells].map((cell) => cell.innerText))"


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    """The address of the page in a folder of tables."""
    path = tmp_path_factory.mktemp("run") / "results" / "tables" / "make_table.html"
    write_text(path, make_table_page(numbers(), MADE))
    return path.as_uri()


def fragment(chosen: Choice) -> str:
    """The choice as the part of an address behind #."""
    entries: list[tuple[str, object]] = [("metrics", label_of(metric)) for metric in chosen.metrics]
    entries += [
        (name, one) for name in ("captioners", "corpora", "evaluations", "notes") for one in getattr(chosen, name)
    ]
    entries += [(name, str(getattr(chosen, name)).lower()) for name in ("intervals", "best", "published", "decimals")]
    entries += [("width", chosen.width), *([("differences", chosen.differences)] if chosen.differences else [])]
    return urlencode(entries)


def look(page: Page, address: str, chosen: Choice | None = None) -> None:
    page.open("about:blank")
    page.open(f"{address}#{fragment(chosen)}" if chosen else address)


def copied(page: Page, kind: str) -> str:
    return str(page.run(f"texts.{kind}"))


@pytest.mark.parametrize("name", CHOICES)
def test_the_page_makes_the_tables_of_the_workflow(page, address, name, tmp_path):
    chosen = CHOICES[name]
    look(page, address, chosen)
    assert page.run("document.querySelector('.problem').textContent") == ""
    table = own_table("x", chosen, "x.yaml", numbers(), MADE)
    assert copied(page, "latex") == own_latex(table, WIDTHS[chosen.width])
    assert copied(page, "csv") == csv_text(table)
    lines = [line for line in markdown(table).splitlines() if line.startswith(("|", "- "))]
    lines = lines[: len(lines) - len(table.made)]
    assert [line for line in copied(page, "markdown").splitlines() if line] == lines
    shown = [row[0].split("\n")[0].strip() for row in page.run(SHOWN)[1:]]
    assert shown == [text for block in table.blocks for text in (block.heading, *(row[0].text for row in block.rows))]
    links = page.run("[...document.querySelectorAll('main .scroll a')].map((one) => one.getAttribute('href'))")
    ours = [cell.link for block in table.blocks for row in block.rows for cell in row if cell.link]
    assert [parse_qs(link.partition("#")[2]) for link in links] == [parse_qs(link.partition("#")[2]) for link in ours]
    bold = [cell.text for block in table.blocks for row in block.rows for cell in row if cell.best]
    assert page.run("[...document.querySelectorAll('td strong')].map((one) => one.innerText)") == bold
    assert page.run("[...document.querySelectorAll('ul.notes li')].map((one) => one.textContent)") == remarks_of(table)


@pytest.mark.parametrize("name", CHOICES)
def test_the_saved_file_is_the_choice(page, address, name, tmp_path):
    look(page, address, CHOICES[name])
    content = page.run("fetch(document.querySelector('a.button').href).then((answer) => answer.text())")
    write_text(tmp_path / "own.yaml", content)
    assert read_choice(tmp_path / "own.yaml") == CHOICES[name]


def test_numbers_are_rounded_as_python_rounds_them(page, address):
    look(page, address)
    halves = [number / 8 for number in range(-40, 41)]
    near = [0.1 * number + 0.05 for number in range(60)] + [1.005, 2.675, 1e-9, 123456789.125, 0.1 + 0.2, 9.995, 99.5]
    given = [*halves, *near, *struct.unpack("<4d", bytes(range(20, 52)))[2:3], -0.0]
    cases = [(value, decimals, signed) for value in given for decimals in range(5) for signed in (False, True)]
    found = page.run(f"{json.dumps(cases)}.map((one) => fixed(...one))")
    assert found == [f"{value:{'+' if signed else ''}.{decimals}f}" for value, decimals, signed in cases]


def test_without_a_choice_there_is_a_table_and_the_address_follows_every_change(page, address):
    look(page, address)
    assert page.run("document.querySelectorAll('main tbody tr').length") == 5
    page.run("form.elements.decimals.focus(); form.elements.decimals.select()")
    page.send("Input.insertText", text="3")
    assert "decimals=3" in page.run("location.hash")
    before = page.run("location.hash")
    page.run("[...form.querySelectorAll('[data-list=captioners] li')].at(-1).querySelector('input').focus()")
    page.key(" ", " ")
    assert HUMAN not in page.run("choice.captioners")
    assert page.run("document.activeElement.type") == "checkbox"
    changed = page.run("[location.hash, texts.latex]")
    assert changed[0] != before
    page.reload()
    assert page.run("[location.hash, texts.latex]") == changed
    page.run(f"location.hash = {json.dumps(before)}")
    page.wait("choice.captioners.length === 4")


def test_rows_are_moved_by_the_keyboard(page, address):
    look(page, address, choice())
    assert page.run("choice.captioners")[:2] == [ODD, PLAIN]
    page.run("form.querySelector('[data-list=captioners] button:not(:disabled)').focus()")
    page.key("Enter", "\r")
    assert page.run("choice.captioners")[:2] == [PLAIN, ODD]
    assert page.run("document.activeElement.ariaLabel") == f"Move {ODD} down"
    page.key("Enter", "\r")
    assert page.run("choice.captioners")[:3] == [PLAIN, SEEDED, ODD]


def test_the_page_says_what_is_not_there(page, address):
    look(page, address)
    page.open("about:blank")
    page.open(f"{address}#captioners={PLAIN}&captioners=nobody&metrics=&corpora=second")
    assert page.run("document.querySelector('.problem').textContent") == (
        "Not in this run: nobody. Choose at least one of: metrics."
    )
    assert page.run("[...document.querySelectorAll('[data-copy]')].every((button) => button.disabled)")
    page.open("about:blank")
    page.open(f"{address}#captioners={HUMAN}&corpora=second&evaluations=other")
    assert "No captioner has a number" in page.run("document.querySelector('.problem').textContent")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1400, 390])
def test_axe_finds_nothing_and_the_page_is_no_wider_than_its_window(page, address, width, dark):
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.send("Emulation.setEmulatedMedia", features=[scheme])
    page.size(width, 900, width < 600)
    look(page, address, CHOICES["all"])
    page.run(f"document.querySelectorAll('details').forEach((one) => {{ one.open = true; }}); {AXE}; null")
    found = page.run("axe.run().then(({ violations }) => violations.map((one) => `${one.id}: ${one.nodes[0].html}`))")
    assert found == []
    assert page.run("document.documentElement.scrollWidth") <= width
    page.size(1400, 900, False)
