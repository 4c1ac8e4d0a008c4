"""Pages of tables, their index and the cards of claims in a real browser: width, keyboard, links, axe."""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

import axe_core_python
import pytest
from support.chromium import Page, program
from support.sample_tables import BELOW, FAR, HOSTILE, TABLES

from captionlab.reporting.claims.claim_cards import claim_cards
from captionlab.reporting.claims.claims import RECORD_COLUMNS
from captionlab.reporting.tables.collection import Listed, collect
from captionlab.reporting.tables.formats.files import write_table_files, write_text
from captionlab.reporting.tables.render import Block, Cell, Column, Link, Table
from captionlab.storage import paths

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
LINKS = "[...document.querySelectorAll('a[href], img[src]')].map((one) => one.href || one.src)"
FIRST = "[...document.querySelectorAll('tbody')].map((body) => [...body.rows].map((row) => row.cells[0].innerText))"
SHOWN = "[...document.querySelectorAll('thead th:not([hidden])')].map((head) => head.innerText.split('\\n')[0].trim())"


def claims() -> Table:
    """Two claims, one of them judged for two corpora."""
    columns = [
        Column(name, numeric=False) for name in ("judged for", "verdict", "as claimed", "evidence", "could show")
    ]
    records, blocks = [], []
    for claim, verdicts in (("better", ("holds", "cannot tell")), ("longer", ("does not hold",))):
        of_claim = {"paper": "probing", "claim": claim, "section": "4.1", "statement": f"Captions are {claim}."}
        records += [{**of_claim, "verdict": verdict} for verdict in verdicts]
        links = [Link("a captioner 82.0", f"wide.html#{FAR}", "in wide"), Link("20.0", f"long.html#{BELOW}", "in long")]
        about = Cell(f"{HOSTILE};\nthe second", links=[links])
        rows = [[Cell("COCO"), Cell(verdict), Cell("1 of 2"), about, Cell("0.5")] for verdict in verdicts]
        blocks.append(Block(rows, f"probing, section 4.1: Captions are {claim}."))
    return Table("claims", "Claims", "What papers claim.", columns, blocks, records, RECORD_COLUMNS, (), ["Made."])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder of tables of a run with figures and pages, as rule collect_tables makes it."""
    run = tmp_path_factory.mktemp("run") / "results"
    made = [run / "reporting" / f"{table.name}.{ending}" for table in TABLES for ending in ("md", "html", "tex")]
    for table in TABLES:
        write_table_files(table, [path for path in made if path.stem == table.name])
    for number in (2, 10):
        name = f"probing_table{number}_pairs"
        write_text(run / "reporting" / f"{name}.html", made[1].read_text().replace("A table: pair", f"Table {number}"))
        made.append(run / "reporting" / f"{name}.html")
    for ending in ("csv", "md"):
        write_text(run / "reporting" / f"claims.{ending}", "")
    write_text(run / "reporting" / "claims.html", claim_cards(claims()))
    made += [run / "reporting" / f"claims.{ending}" for ending in ("html", "csv", "md")]
    pictures = run / "reporting" / "pictures"
    figures = [run / "figures" / f"probing_figure{number}_words.{end}" for number in (2, 10) for end in ("png", "pdf")]
    for figure in figures:
        figure.parent.mkdir(exist_ok=True)
        figure.write_bytes(next(pictures.iterdir()).read_bytes())
    write_text(run / "browser" / "index.html", "<title>Captions</title>")
    write_text(run / "index.html", "<title>What this run answers</title>")
    pages = {f"{paths.BROWSER}/index.html": ["Captions", "Every caption with its image."]}
    labels = {"probing_figure2_words": "words", "probing_figure10_words": "10: words"}
    listed = Listed(
        {"probing": "Ma et al. 2022, *A title*"},
        figures,
        labels,
        pages,
        tables_of_figures={"probing_figure2_words": "probing_table2_pairs"},
    )
    collect(made, run / "tables", [pictures], listed)
    return run / "tables"


def look(page: Page, folder: Path, name: str, width: int = 1400) -> None:
    page.size(width, 900, width < 600)
    page.open((folder / f"{name}.html").as_uri())


def findings(page: Page) -> list[str]:
    """What axe finds, each rule with the first element."""
    page.run(f"{AXE}; null")
    found = page.run("axe.run().then(({ violations }) => violations.map((one) => `${one.id}: ${one.nodes[0].html}`))")
    return [str(one) for one in found]


NAMES = [*(table.name for table in TABLES), "claims", "index"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(page, folder, name, dark):
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.send("Emulation.setEmulatedMedia", features=[scheme])
    look(page, folder, name)
    page.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert findings(page) == []


@pytest.mark.parametrize("name", NAMES)
def test_no_page_is_wider_than_a_phone_and_no_table_than_a_screen_without_a_switch(page, folder, name):
    look(page, folder, name, 390)
    assert page.run("document.documentElement.scrollWidth") <= 390
    look(page, folder, name)
    assert page.run("document.documentElement.scrollWidth") <= 1400
    if name not in ("claims", "index", "hostile"):  # of the last a word is longer than the page
        assert page.run("(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(region)")


def test_every_link_of_every_page_leads_to_a_file(page, folder):
    for name in NAMES:
        look(page, folder, name)
        places = [urlsplit(link) for link in page.run(LINKS) if link.startswith("file:")]
        assert places
        assert [place.path for place in places if not Path(unquote(place.path)).is_file()] == []
    look(page, folder, "index")
    linked = {Path(unquote(urlsplit(link).path)).relative_to(folder.parent).as_posix() for link in page.run(LINKS)}
    assert {"browser/index.html", "figures/probing_figure2_words.png", "figures/probing_figure2_words.pdf"} <= linked
    assert {f"tables/{name}.html" for name in NAMES} <= linked
    figures = page.run("[...document.querySelectorAll('.figures li')].map((one) => one.innerHTML)")
    assert ["probing_table2_pairs.html" in figure for figure in figures] == [True, False]


def test_the_index_groups_by_paper_in_the_order_of_people(page, folder):
    look(page, folder, "index")
    assert page.run("[...document.querySelectorAll('h2')].map((one) => one.innerText)") == ["This run", "probing"]
    text = page.text()
    places = [text.index(name) for name in ("Figure 2: words", "Figure 10: words", "Table 2", "Table 10")]
    assert places == sorted(places)
    lines = (folder / "index.md").read_text(encoding="utf-8")
    assert "[Captions](../browser/index.html): Every caption with its image." in lines
    assert lines.index("## This run") < lines.index("- **A table: wide**") < lines.index("## probing")


def test_columns_are_sorted_by_the_keyboard_within_their_blocks(page, folder):
    look(page, folder, "long")
    before = page.run(FIRST)
    page.run("document.querySelectorAll('button.sort')[3].focus()")
    orders = []
    for _ in range(3):
        page.key("Enter", "\r")
        orders.append((page.run("heads[3].getAttribute('aria-sort')"), page.run(FIRST)))
    headings = [block[0] for block in before]
    assert [order for order, _ in orders] == ["descending", "ascending", "none"]
    # Perplexity is 9, 10, ... 20, and 12 of people: by value and not by text, people before or after the equal one.
    for block, heading in zip(orders[0][1], headings, strict=True):
        assert block[0] == heading
        assert [row for row in block[1:] if row != "human"] == [f"captioner-{place}" for place in range(11, -1, -1)]
    assert orders[2][1] == before
    page.run("document.querySelectorAll('button.sort')[2].click()")
    assert [block[-1] for block in page.run(FIRST)] == ["human"] * 6  # nothing was measured: last
    assert page.run("document.activeElement.className") == "sort"


def test_columns_of_the_paper_and_groups_are_switched(page, folder):
    look(page, folder, "wide")
    shown = page.run(SHOWN)
    assert "paper" in shown
    assert 1 < sum(name.startswith("a corpus") for name in shown) < 9
    page.run("document.querySelectorAll('.switches input')[0].click()")
    assert "paper" not in page.run(SHOWN)
    widths = page.run("[...table.rows].slice(2).map((row) => [...row.cells].filter((cell) => !cell.hidden).length)")
    assert widths == [1 + sum(not name.startswith("a corpus") for name in page.run(SHOWN)[1:])] * 5
    page.run("document.querySelectorAll('.switches input')[9].click()")
    assert "a corpus 8 (n = 300)" in page.run(SHOWN)


def test_the_head_stays_in_sight_of_a_long_table(page, folder):
    look(page, folder, "long")
    page.run("window.scrollTo(0, 1500)")
    left, top, *_ = page.box("thead")
    assert (left > 0, abs(top)) == (True, 0)


def test_the_best_is_not_told_by_colour_alone_and_provenance_is_folded(page, folder):
    look(page, folder, "pair")
    assert page.run("[...document.querySelectorAll('td strong')].map((one) => one.innerText)") == ["10.2"]
    assert "Bold: the best value" in page.text()
    assert "made-up" not in page.text()
    page.run("document.querySelector('summary').click()")
    assert "made-up" in page.text()


def test_hostile_names_are_texts(page, folder):
    look(page, folder, "hostile")
    assert page.run("document.querySelectorAll('main img').length") == 0
    assert HOSTILE in page.run("document.querySelector('h1').textContent")


def test_cards_are_chosen_by_verdict(page, folder):
    look(page, folder, "claims", 390)
    counts = "[...document.querySelectorAll('.counts button')].map((one) => one.innerText)"
    assert page.run(counts) == ["✓ 1 holds", "✗ 1 does not hold", "? 1 cannot tell"]
    visible = "[...document.querySelectorAll('.claim')].filter((one) => one.offsetHeight).map((one) => one.id)"
    assert page.run(visible) == ["probing-better", "probing-longer"]
    page.run("document.querySelectorAll('.counts button')[1].focus()")
    page.key("Enter", "\r")
    assert page.run(visible) == ["probing-longer"]
    assert page.run("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_a_page_in_a_frame_of_another_has_no_links(page, folder, tmp_path):
    """Snakemake's report shows pages in frames, from addresses with no folder."""
    text = (folder / "pair.html").read_text(encoding="utf-8")
    frame = f"<iframe></iframe><script>document.querySelector('iframe').srcdoc = {json.dumps(text)}"
    (tmp_path / "report.html").write_text(frame.replace("</", "<\\/").replace("<\\/iframe>", "</iframe>") + "</script>")
    page.open((tmp_path / "report.html").as_uri())
    inside = "document.querySelector('iframe').contentDocument"
    page.wait(f"{inside}?.querySelector('button.sort')")
    assert page.run(f"{inside}.querySelectorAll('a').length") == 0
    assert page.run(f"{inside}.querySelectorAll('td').length") == 2


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize(("link", "number", "place"), [(0, "82.0", FAR), (1, "20.0", BELOW)])
def test_a_claim_leads_to_the_cell_of_its_number(page, folder, width, link, number, place):
    """The first cell is in a group of columns that is switched off at first, the second far below."""
    look(page, folder, "claims", width)
    page.run("document.querySelector('details').open = true")
    page.run(f"document.querySelectorAll('.judged a')[{link}].click()")
    page.wait("document.querySelector('td:target')?.getBoundingClientRect().bottom <= innerHeight")
    assert page.run("document.querySelector('td:target').id") == place
    assert page.run("document.querySelector('td:target').innerText.split('\\n')[0]") == number
    left, top, wide, high = page.box("td:target")
    assert left > 0
    assert top > 0
    assert left + wide <= width
    # Neither the sticky head nor the sticky first column lies over it.
    over = f"document.elementFromPoint({left + wide / 2}, {top + high / 2})"
    assert page.run(f"document.querySelector('td:target').contains({over})")
    outline = "getComputedStyle(document.querySelector('td:target')).outlineStyle"
    assert page.run(outline) == "solid"
