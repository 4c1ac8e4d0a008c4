"""The summary of a reproduction, held against counts by hand."""

import pytest
from support.reporting_run import PROVENANCE

from captionlab.reporting.claims.reproduction_table import outcomes, reproduction_table
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.formats.markdown import markdown

PAPERS = {
    "one": {"citation": "One et al., *Title*", "comparable": False},
    "two": {"citation": "Two", "comparable": True},
}


def claim(paper, name, verdict, statement="It gains.", evidence=""):
    place = {"paper": paper, "claim": name, "section": "1", "statement": statement, "evidence": evidence}
    return {**place, "verdict": verdict}


CLAIMS = [
    claim("one", "a", "holds"),
    claim("one", "a", "holds"),
    claim("one", "b", "holds"),
    claim("one", "b", "does not hold"),
    claim("one", "c", "not tested in this run", "<b>They | lose.", "tested with people"),
    claim("two", "d", "cannot tell"),
    claim("two", "d", "not tested in this run"),
]
NUMBERS = {
    "one": {
        "t1": [{"published": "1.0", "verdict": "not comparable"}, {"published": "", "verdict": "no published value"}]
    },
    "two": {
        "t2": [{"published": p, "verdict": v} for p, v in (("1", "agrees"), ("2", "differs"), ("3", "agrees"))],
        "words": [{"published": "a dog"}],
    },
}


@pytest.mark.parametrize(
    ("name", "verdict"),
    [("a", "holds"), ("b", "verdicts differ"), ("c", "not tested in this run"), ("d", "cannot tell")],
)
def test_the_outcome_of_a_claim(name, verdict):
    assert {one.claim: one.verdict for one in outcomes(CLAIMS)}[name] == verdict


def test_counts_by_hand():
    table = reproduction_table(CLAIMS, NUMBERS, PAPERS, PROVENANCE)
    everything = {(row[0].text, row[1].text): row[2].text for row in table.blocks[0].rows}
    assert everything == {
        ("claims", "holds"): "1 of 4",
        ("claims", "verdicts differ"): "1 of 4",
        ("claims", "not tested in this run"): "1 of 4",
        ("claims", "cannot tell"): "1 of 4",
        ("published numbers", "agrees"): "2 of 4",
        ("published numbers", "differs"): "1 of 4",
        ("published numbers", "not comparable"): "1 of 4",
    }
    of_numbers = {(r["name"], r["verdict"]): (r["count"], r["of"]) for r in table.records if r["part"] != "claim"}
    expected = {("t1", "not comparable"): (1, 1), ("t2", "agrees"): (2, 3), ("t2", "differs"): (1, 3)}
    assert of_numbers == expected
    said = {row[0].text: row[3].text for block in table.blocks[1:] for row in block.rows}
    assert said["b"] == "It gains: holds 1, does not hold 1."
    assert said["c"] == "<b>They | lose: tested with people."
    assert "3 published numbers are held against this run's, those of two" in table.description
    # Four claims with seven verdicts, which are what the table of claims counts.
    assert table.description.startswith("4 claims of 2 papers, by their verdicts in this run: holds 1, ")
    assert "Each claim counts once here; the table claims counts 7 verdicts" in table.description


def test_a_run_of_other_data_is_held_against_nothing():
    papers = {"one": PAPERS["one"]}
    table = reproduction_table(CLAIMS[:5], {"one": NUMBERS["one"]}, papers, PROVENANCE)
    assert "None of this run's numbers is held against a published one" in table.description


def test_texts_are_escaped():
    table = reproduction_table(CLAIMS, NUMBERS, PAPERS, PROVENANCE)
    assert "&lt;b&gt;They \\| lose" in markdown(table)
    assert "<b>They" not in html(table)
