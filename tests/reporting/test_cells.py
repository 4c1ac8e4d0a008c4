"""Cells of tables have addresses, and the claims that are judged by their numbers lead there."""

from dataclasses import replace

import pytest
from support.claim_links import differing, followed
from support.paper_jobs import PAPERS
from support.paper_jobs import published as published_of
from support.reporting_run import BLOCK, LINEAGE, PROVENANCE, compared, row, summary
from test_render import Page

from captionlab.papers.discritune.tables import captioner_tables
from captionlab.reporting.claims.claim_cards import claim_cards
from captionlab.reporting.claims.claims import claims_table, read_claims
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.tables.cells import links_to, place_name, places_behind, read_cells, write_cells
from captionlab.reporting.tables.formats.files import write_table_files, write_text
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.render import Block, Cell, Column, Table

PLACE = {"subject": "tuned", "corpus": "coco", "measure": "P@1", "scorer": "clip-a", "experiment": "generated"}


def test_a_place_is_named_by_all_that_tells_it_from_others():
    changes = [
        {}, {"subject": "a b"}, {"subject": "a+b"}, {"corpus": "x"}, {"measure": "y"}, {"scorer": None},
        {"experiment": "z"}, {"source": "mined"}, {"level": 0.5}, {"level": 1}, {"against": "clipcap"},
    ]  # fmt: skip
    names = [place_name({**PLACE, **change}) for change in changes]
    assert len({*names}) == len(names)
    assert not any(set(name) & set(" \"'<>\n") for name in names)
    # A level is a whole number in one table and a float in another; what else a row holds says nothing of the place.
    assert place_name({**PLACE, "level": 3}) == place_name({**PLACE, "level": 3.0, "value": 1.0, "n": 9})
    assert place_name({"quantity": "sets", "value": 1.0}) == ""


def table(*cells: Cell) -> Table:
    columns = [Column("who", numeric=False), *(Column(str(number)) for number in range(len(cells)))]
    return Table("t", "t", "t", columns, [Block([[Cell("me"), *cells]])], [], [])


def test_of_two_cells_of_a_place_the_first_has_the_address():
    shown = table(Cell("1.0", place="a"), Cell("1.00", place="a"), Cell("2.0", place="b&c"), Cell("3.0"))
    ids = [(found.get("id"), text) for _, found, text in Page(html(shown)).rows[-1]]
    assert ids == [
        (None, "me"),
        ("a", "1.0"),
        ("block=&row=me&column=1", "1.00"),
        ("b&c", "2.0"),
        ("block=&row=me&column=3", "3.0"),
    ]


def test_the_first_table_that_has_a_place_is_led_to(tmp_path):
    first = table(Cell("1.0", place="a"))
    second = replace(table(Cell("1.00", place="a"), Cell("2.0", place="b")), name="second")
    write_cells(tmp_path / "cells.parquet", [first, second])
    cells = read_cells(tmp_path / "cells.parquet")
    links = links_to({"difference": "none", "me": "a", "you": "b", "they": "none"}, cells)
    assert [(link.text, link.address) for link in links] == [("me 1.0", "t.html#a"), ("you 2.0", "second.html#b")]
    # Where the difference itself stands in a table, that is it.
    assert [link.text for link in links_to({"difference": "b", "me": "a"}, cells)] == ["difference 2.0"]


@pytest.mark.parametrize("measure", ["P@1", "nearness of P@1", "non-inferiority of P@1"])
def test_a_nearness_is_about_the_difference_that_it_follows_from(measure):
    found = places_behind({**PLACE, "measure": measure, "against": "clipcap"}, "Tuned", "ClipCap")
    assert found == {
        "difference": place_name({**PLACE, "against": "clipcap"}),
        "Tuned": place_name(PLACE),
        "ClipCap": place_name({**PLACE, "subject": "clipcap"}),
    }


def test_a_table_says_which_names_are_of_the_config():
    paper = Reproduction(BLOCK, LINEAGE, published_of("discritune"))
    run = paper.run(summary(), [compared("tuned", "clipcap", "coco", "CIDEr", -36.0, 1.0)])
    notes = [note for table in captioner_tables(run, paper, PROVENANCE) for note in table.footnotes]
    names = [note for note in notes if note.startswith("Retrievers have their names in this run's config (")]
    assert any("clip-a" in note for note in names)


def test_every_link_of_a_claim_leads_to_a_cell_with_its_number(tmp_path):
    """The paper's own tables of a made-up run, and its claims: what a line prints is the one cell minus the other."""
    paper = Reproduction(BLOCK, LINEAGE, published_of("discritune"))
    run = paper.run(summary(), [compared("tuned", "clipcap", "coco", "CIDEr", -36.0, 1.0)])
    tables = captioner_tables(run, paper, PROVENANCE)
    for one in tables:
        write_table_files(one, [tmp_path / f"{one.name}.html"])
    write_cells(tmp_path / "cells.parquet", tables)
    claims = read_claims(PAPERS / "discritune" / "claims.yaml", "discritune")
    evidence = {"discritune": Evidence([], lambda row: None, (paper, run))}
    cells = {"discritune": read_cells(tmp_path / "cells.parquet")}
    write_text(tmp_path / "claims.html", claim_cards(claims_table(claims, evidence, PROVENANCE, cells)))
    links = followed(tmp_path / "claims.html", tmp_path)
    assert [link for link in links if link.number != link.shown] == []
    subjects, others = links[::2], links[1::2]
    assert len(subjects) == len(others) > 10
    assert {one.label for one in subjects} == {"DiscriTune-COCO"}
    assert {one.label for one in others} == {"ClipCap-COCO", "Human captions"}
    assert differing(links) == (len(subjects), [])


def test_a_number_that_is_in_no_table_is_led_to_by_no_claim():
    paper = Reproduction(BLOCK, LINEAGE, published_of("discritune"))
    run = paper.run([row("tuned", "coco", "CIDEr", 60.0), row("clipcap", "coco", "CIDEr", 96.0)])
    claims = read_claims(PAPERS / "discritune" / "claims.yaml", "discritune")
    table = claims_table(claims, {"discritune": Evidence([], lambda row: None, (paper, run))}, PROVENANCE, {})
    links = [one for block in table.blocks for cells in block.rows for c in cells for of in c.links for one in of]
    assert {link.text for link in links} == {"captions"}
