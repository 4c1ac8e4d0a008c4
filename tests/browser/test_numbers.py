"""The same number at both ends of a link: in a table, in the results browser, and computed again by a command."""

import json
import random
import shlex
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from support.browser_run import build
from support.chromium import Page, browser, program

from captionlab.commands.main import main
from captionlab.reporting.runs.links import printed_link
from captionlab.reporting.runs.values import link_of
from captionlab.reporting.tables.evaluation_table import evaluation_table
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.render import Block, Cell, Column, Table, interval_cell
from captionlab.storage import paths
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import read_table, write_table

pytestmark = pytest.mark.skipif(program() is None, reason="no Chromium: apt-get install chromium")
PAGE = Path(__file__).parents[2] / "resources" / "browser"
ENDS = ("difference", "ci_low", "ci_high")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The folder of a run with a browser."""
    folder = tmp_path_factory.mktemp("a run")
    build(folder, PAGE, compared=True)
    return folder


@pytest.fixture(scope="module")
def tables(run) -> list[Table]:
    """Tables of the run: every metric, and every difference with one and with two decimals. They lie in the run."""
    summary, comparisons = (
        read_table(run / paths.reporting(name), schema).to_pylist()
        for name, schema in (("summary.parquet", SUMMARY), ("comparisons.parquet", COMPARISONS))
    )
    rows = [
        [
            Cell(row["metric"]),
            *(
                interval_cell([row[name] for name in ENDS], f"+.{decimals}f", link=link_of(row, row["against"]))
                for decimals in (1, 2)
            ),
        ]
        for row in comparisons
    ]
    columns = [Column("metric", numeric=False), Column("1 decimal"), Column("2 decimals")]
    made = [
        evaluation_table(summary, comparisons, [], {"config": "made-up", "seed": 0}),
        Table("differences", "t", "t", columns, [Block(rows)], [], []),
    ]
    (run / paths.TABLES).mkdir()
    for table in made:
        (run / paths.table(f"{table.name}.html")).write_text(html(table), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def page(run, tmp_path_factory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("chromium")
    with browser(folder / "profile", folder) as page:
        page.size(1400, 900, False)
        page.open((run / paths.browser("index.html")).as_uri())
        page.wait("performance.getEntriesByName('captions shown').length")
        yield page
    assert page.errors == []


def linked(tables: list[Table]) -> list[Cell]:
    """All cells that lead to captions."""
    return [cell for table in tables for block in table.blocks for row in block.rows for cell in row if cell.link]


def facts(page: Page, link: str) -> dict[str, list[str]]:
    """The terms of the panel where a link leads, and its heading as `number`."""
    state = json.dumps(dict(parse_qsl(link.partition("#")[2])))
    page.run(
        f"look({{ ...DEFAULTS, ...{state} }})"
    )  # without the address, which Chromium lets change 200 times in 10 s
    assert page.run("!byId('number').hidden && byId('number').open"), state
    found = {"number": [page.run("byId('printed-number').textContent")]}
    for name, text in page.run("[...byId('facts').children].map((one) => [one.localName, one.textContent])"):
        if name == "dt":
            found[term := text] = []
        else:
            found[term].append(text)
    return found


def test_every_linked_number_is_at_the_other_end_of_its_link(run, tables, page):
    cells = linked(tables)
    assert len(cells) > 80
    for cell in cells:
        shown = facts(page, cell.link)
        assert shown["number"] == [f"{cell.text} {cell.detail}"], cell.link
        assert {"Definition", "Unit", "Images", "Interval, 95 %", "Decoding", "Computed from"} <= shown.keys()
        assert len(shown["Compute it again"]) == 1


def test_a_click_on_a_number_leads_to_it(run, tables, page):
    for table in tables:
        for place in random.Random(0).sample(range(len(linked([table]))), 3):
            page.open((run / paths.table(f"{table.name}.html")).as_uri())
            address = f"document.querySelectorAll('td a[href*=browser]')[{place}]"
            text = page.run(f"{address}.closest('td').textContent")
            page.run(f"{address}.scrollIntoView({{ block: 'center' }})")
            page.click("td a[href*=browser]", place)
            page.wait("document.querySelector('#number[open]') && byId('printed-number')")
            assert page.run("byId('printed-number').textContent").replace(" ", "") == text.replace(" ", "")


def test_a_value_of_the_corpus_stands_beside_the_mean_of_its_captions(run, tables, page):
    link = "#corpus=world&evaluation=main&a=tuned&metric="
    bleu = facts(page, f"{link}BLEU%404")
    assert bleu["Of single captions"] == ["mean of the captions' own BLEU@4: 50.00"]
    assert not bleu["number"][0].startswith("50.00")
    assert "Of single captions" not in facts(page, f"{link}CIDEr")
    first = facts(page, f"{link}P%401&retriever=clip&candidates=4+file-order")
    assert first["As a count"] == ["3 of 12 captions"]
    assert first["Of single captions"] == ["mean rank of the captions' images: 2.50"]
    assert page.run("[state.measure, state.metric]") == ["rank", "P@1"]
    sorted_by = page.run("view.measures.find(({ metric }) => metric === 'CIDEr').number")
    page.run(f"(byId('measure').value = '{sorted_by}', byId('measure').dispatchEvent(new Event('change')))")
    assert page.run("byId('about').textContent").startswith("About this number: CIDEr of tuned: ")


def test_captioners_that_the_run_does_not_compare_have_both_values(run, tables, page):
    shown = facts(page, "#corpus=world&evaluation=main&a=foreign&b=tuned&metric=CIDEr&order=difference")
    assert shown["number"] == ["not compared in this run"]
    assert [text.partition(":")[0] for text in shown["Values of the two"]] == ["foreign", "tuned"]
    assert len(shown["Compute it again"]) == 2


def test_a_number_of_an_analysis_is_printed_as_in_its_table(run, tables, page):
    link = printed_link("#corpus=world&evaluation=main&a=tuned&metric=of+its+table", "77.5 [75.4, 79.5]")
    shown = facts(page, link)
    assert shown["number"] == ["77.5 [75.4, 79.5]"]
    assert [text.split()[0] for text in shown["Computed from"]] == ["results/captions/tuned/main.parquet"]


@pytest.mark.parametrize(
    ("address", "printed", "definition", "interval"),
    [
        ("metric=pattern", "77.5 [75.4, 79.5]", "How many captions have it.", "Clopper"),
        ("metric=words+of+captions", "5.00 [4.50, 5.25]", "Mean number of words.", "percentile bootstrap"),
        ("metric=words+of+captions&b=parent&order=difference", "+0.00 [-1.00, +1.00]", "Mean number", "paired"),
    ],
)
def test_a_number_of_a_paper_is_explained_and_computed_again(run, page, capsys, address, printed, definition, interval):
    shown = facts(page, printed_link(f"#corpus=world&evaluation=main&a=tuned&{address}", printed))
    assert shown["number"] == [printed]
    assert shown["Definition"][0].startswith(definition)
    assert shown["Interval, 95 %"][0].startswith(interval)
    assert shown["Images"] == ["n = 12 of world"]
    assert "In the table" not in shown
    [command] = shown["Compute it again"]
    assert main(shlex.split(command)[1:]) == 0
    [value, *_] = (line.split()[1:] for line in capsys.readouterr().out.splitlines()[1:])
    assert value[0] == value[1] == f"{float(printed.split()[0]):g}"


def test_a_number_that_no_paper_has_is_an_error(run, capsys):
    place = ["number", "--paper", "probing", "--corpus", "world", "--directory", str(run), "--captioner"]
    assert main([*place, "CLIP", "--metric", "pattern", "--against", "nobody"]) == 1
    assert "measure 'pattern' is none of: words of captions" in capsys.readouterr().err
    assert main([*place, "Clip", "--metric", "pattern"]) == 1
    assert "subject 'Clip' is none of: CE; CLIP" in capsys.readouterr().err
    assert main(["number", "--paper", "none", *place[3:], "CE", "--metric", "pattern"]) == 1
    assert "no results/reporting/none/values.parquet" in capsys.readouterr().err


def test_a_table_of_another_state_of_the_run_is_told(run, tables, page):
    shown = facts(page, printed_link("#corpus=world&evaluation=main&a=tuned&metric=CIDEr", "1.5 [1.0, 2.0]"))
    assert shown["number"] != ["1.5 [1.0, 2.0]"]
    [text] = shown["In the table"]
    assert text.startswith("1.5 [1.0, 2.0]; ")
    assert all("In the table" not in facts(page, cell.link) for cell in linked(tables)[:5])
    page.button("Swap A and B")
    assert page.run("state.printed") == ""
    assert "In the table" not in page.run("byId('facts').textContent")


def test_a_difference_is_turned_round_with_its_captioners(run, tables, page):
    there, back = (
        facts(page, f"#corpus=world&evaluation=main&a={a}&b={b}&metric=CIDEr&order=difference")["number"][0]
        for a, b in (("tuned", "parent"), ("parent", "tuned"))
    )
    turn = lambda number: f"{-float(number):+.2f}"  # noqa: E731
    value, low, high = there.replace("[", "").replace("]", "").replace(",", "").split()
    assert back == f"{turn(value)} [{turn(high)}, {turn(low)}]"


def test_a_number_is_rounded_as_python_rounds_it(page):
    values = [0.125, 0.375, 2.675, 90.25, 90.35, 5.125, 1e-9, 0.0, 33.333333, 99.95, 2.5, 1.005, 1234.5678]
    for decimals in (0, 1, 2):
        expected = [f"{value:+.{decimals}f}" for value in [*values, *(-value for value in values if value)]]
        given = json.dumps([*values, *(-value for value in values if value)])
        assert page.run(f"{given}.map((value) => printed(value, {decimals}, true))") == expected


def test_ten_cells_are_computed_again_by_the_commands_of_the_page(run, tables, page, capsys):
    values, differences = linked(tables[:1]), linked(tables[1:])
    chosen = [*random.Random(1).sample(values, 6), *random.Random(2).sample(differences, 4)]
    assert len(chosen) == 10
    for cell in chosen:
        [command] = facts(page, cell.link)["Compute it again"]
        program_name, *arguments = shlex.split(command)
        assert program_name == "captionlab"
        assert arguments[-2:] == ["--directory", str(run)]
        assert main(arguments) == 0, command
        table = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
        assert [line[0] for line in table][1:] == ["ci_low", "ci_high", "n"]
        assert all(stored == again for _, stored, again in table)
        printed = f"{float(table[0][2]):{'+' if cell in differences else ''}.{len(cell.text.partition('.')[2])}f}"
        assert printed == cell.text


def test_a_number_that_was_stored_otherwise_is_told(tmp_path, capsys):
    build(tmp_path, PAGE)
    arguments = ["--captioner", "tuned", "--corpus", "world", "--evaluation", "main", "--directory", str(tmp_path)]
    place = [*arguments, "--metric", "CIDEr"]
    assert main(["number", *place]) == 0
    summary = tmp_path / paths.reporting("summary.parquet")
    rows = [
        {**row, "value": row["value"] + (row["metric"] == "CIDEr")} for row in read_table(summary, SUMMARY).to_pylist()
    ]
    write_table(summary, SUMMARY, rows)
    assert main(["number", *place]) == 1
    assert "They differ" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"captioner": "nobody"}, ["nobody", "foreign", "parent", "tuned"]),
        ({"metric": "BLEU@5"}, ["BLEU@5", "BLEU@4", "CIDEr"]),
        ({"metric": "P@1", "retriever": "other"}, ["other", "clip"]),
        ({"against": "foreign"}, ["foreign", "parent"]),
    ],
)
def test_a_wrong_coordinate_lists_what_is_there(run, changes, names, capsys):
    place = {"captioner": "tuned", "corpus": "world", "evaluation": "main", "metric": "CIDEr", "directory": str(run)}
    options = [word for name, value in {**place, **changes}.items() for word in (f"--{name}", value)]
    assert main(["number", *options]) == 1
    message = capsys.readouterr().err
    assert [name for name in names if name not in message] == []
