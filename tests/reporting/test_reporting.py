"""From a summary to the tables of the paper: values in their cells, missing ones with a reason, verdicts at edges."""

# ruff: noqa: RUF001 (an en dash stands where a number is missing)

import copy
import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.paper_jobs import PAPERS, Named, published, run_paper, table_files
from support.reporting_run import BLOCK, LINEAGE, PROVENANCE, compared, retrieved, row, summary
from support.running import load_script

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.papers.discritune.tables import captioner_tables
from captionlab.reporting.claims.validity import Finding, validity_table
from captionlab.reporting.runs.published import PublishedValue
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.values import AmbiguousError, Coordinates, Measured
from captionlab.reporting.tables.collection import Listed, collect
from captionlab.reporting.tables.evaluation_table import evaluation_table
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.formats.csv import csv_text
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.formats.latex import latex
from captionlab.reporting.tables.formats.markdown import markdown
from captionlab.reporting.tables.render import MISSING, Cell
from captionlab.reporting.tables.verdicts import beside, judge, smallest_difference
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import write_table


def tables(rows=None, block=None, lineage=LINEAGE, provenance=PROVENANCE):
    paper = Reproduction(block or BLOCK, lineage, published("discritune"))
    return captioner_tables(paper.run(summary() if rows is None else rows), paper, provenance)


def grid(table):
    """Texts of the cells: heading of the block -> first cell of the row -> the others."""
    return {
        block.heading: {cells[0].text: [cell.text for cell in cells[1:]] for cells in block.rows}
        for block in table.blocks
    }


# ------------------------------------------------------------------------------------------------------ verdicts
def measured(value: float, low: float, high: float) -> Measured:
    return Measured(value, low, high, 1, 10)


@pytest.mark.parametrize(
    ("value", "low", "high", "published", "expected"),
    [
        (84.8, 80.57, 89.03, "84.8", "agrees"),  # the whole interval is within 5 %
        (84.8, 70.0, 99.0, "84.8", "cannot tell"),  # the very number, of a few images
        (84.8, 80.55, 89.03, "84.8", "cannot tell"),
        (80.0, 78.0, 84.76, "84.8", "cannot tell"),  # what rounds to the published value counts as it
        (80.0, 78.0, 84.74, "84.8", "differs"),
        (89.0, 84.86, 93.0, "84.8", "differs"),
        (100.0, 95.0, 105.0, "100.0", "agrees"),  # 5 % exactly, ends included
        (104.0, 103.0, 104.9, "100.0", "agrees"),  # leaves the published value out, and is near it all the same
        (104.0, 103.0, 105.1, "100.0", "differs"),
        (0.34, 0.33, 0.35, "0.30", "differs"),  # relative, not absolute
        (0.1, 0.06, 0.14, "0.1", "agrees"),  # all that rounds to it
        (0.0, 0.0, 0.0, "0", "agrees"),  # a count is a point
        (3.0, 3.0, 3.0, "5", "differs"),
    ],
)
def test_verdicts_at_their_edges(value, low, high, published, expected):
    assert judge(measured(value, low, high), PublishedValue(published), comparable=True) == expected


@pytest.mark.parametrize(("note", "expected"), [("", "differs"), ("truncated: 8/9", "cannot tell")])
def test_a_truncated_number_is_any_that_begins_so(note, expected):
    ours = measured(0.94, 0.888, 0.99)
    assert judge(ours, PublishedValue("0.88", note), comparable=True) == expected
    below = measured(0.8, 0.70, 0.878)  # rounds to 0.88, and does not begin so
    assert judge(below, PublishedValue("0.88", note), comparable=True) == ("differs" if note else "cannot tell")


def test_verdicts_that_need_no_number():
    ours, theirs = measured(1.0, 0.5, 1.5), PublishedValue("1.0")
    assert judge(ours, theirs, comparable=False) == "not comparable"
    assert judge(ours, None, comparable=True) == "no published value"
    assert judge(ours, None, comparable=False) == "no published value"
    assert judge(None, theirs, comparable=True) == "not in this run"


def test_the_smallest_difference_is_told_in_four_of_five_runs():
    """Values with a standard error of 1 around a truth that is so far from what is published."""
    smallest = smallest_difference(measured(0.0, -1.959964, 1.959964))
    values = np.random.default_rng(0).normal(50.0 + smallest, 1.0, 4000)
    verdicts = [judge(measured(v, v - 1.96, v + 1.96), PublishedValue("50.0000"), comparable=True) for v in values]
    assert verdicts.count("differs") / 4000 == pytest.approx(0.8, abs=0.02)
    assert smallest_difference(measured(3.0, 3.0, 3.0)) is None
    assert smallest_difference(None) is None


def test_where_the_run_cannot_tell_it_says_what_it_could_have_shown():
    assert beside(PublishedValue("84.8"), "cannot tell", 3.14159) == Cell("84.8 ?", "±3.1")
    assert beside(PublishedValue("84.8"), "differs", 3.14159) == Cell("84.8 ≠")
    assert beside(None, "no published value", 3.14159) == Cell(MISSING)


# ---------------------------------------------------------------------------------------------------- the tables
def test_table_1_has_captioners_as_rows_and_retrievers_beside_each_other():
    table = tables()[0]
    groups = [(column.group, column.heading, column.detail) for column in table.columns]
    assert groups == [
        ("", "captioner", ""),
        ("COCO (n = 500)", "clip-a", "gave the reward"),
        ("COCO (n = 500)", "paper", ""),
        ("COCO (n = 500)", "clip-b", "independent"),
        ("Flickr (n = 400)", "clip-a", "gave the reward"),
        ("Flickr (n = 400)", "paper", ""),
        ("Flickr (n = 400)", "clip-b", "independent"),
    ]
    # 74.24 within rounding of 74.2; 84.0 with [83, 85] around 84.8; 60.0 far below 76.3
    assert list(grid(table)[""].items()) == [
        ("ClipCap-COCO", ["74.2", "74.2 ✓", "54.2", "69.2", "65.9 ≠", "49.2"]),
        ("DiscriTune-COCO", ["84.0", "84.8 ✓", "64.0", "79.0", "79.4 ✓", "59.0"]),
        ("Human captions", ["60.0", "76.3 ≠", "40.0", "–", "88.7", "–"]),
    ]
    assert table.blocks[0].rows[0][1].detail == "[73.2, 75.2]"


def test_missing_cells_say_why():
    table = tables()[0]
    assert table.blocks[0].rows[2][4].note == "people was not evaluated on flickr in this run."
    without = [r for r in summary() if not (r["captioner"] == "tuned" and r["retriever"] == "clip-b")]
    cell = tables(without)[0].blocks[0].rows[1][3]
    assert (cell.text, cell.note) == ("–", "clip-b did not judge tuned on coco in this run.")
    without = [r for r in summary() if (r["captioner"], r["metric"]) != ("tuned", "CIDEr")]
    cell = tables(without)[1].blocks[0].rows[1][5]
    assert (cell.text, cell.note) == ("–", "CIDEr of tuned on coco was not measured in this run.")
    for render in (html, markdown, latex):
        assert "not evaluated on flickr in this run" in render(table)


def test_tables_2_and_3_part_at_the_corpus_of_training():
    _, in_domain, cross_domain, *_ = tables()
    assert grid(in_domain) == {
        "COCO (n = 500)": {
            "ClipCap-COCO": ["32.00", "32.60 ✓", "16.00", "27.50 ≠", "96.00", "108.55 ≠"],
            "DiscriTune-COCO": ["20.00", "32.31 ≠", "10.00", "26.05 ≠", "60.00", "105.40 ≠"],
        }
    }
    assert grid(cross_domain) == {
        "Flickr (n = 500)": {
            "ClipCap-COCO": ["17.00", "17.21 ?", "8.50", "18.43 ≠", "51.00", "41.65 ≠"],
            "DiscriTune-COCO": ["19.00", "18.48 ?", "9.50", "18.61 ≠", "57.00", "44.78 ≠"],
        }
    }


def test_other_captioners_and_look_alikes_have_tables_of_their_own():
    rows = [
        *summary(),
        *(retrieved(name, "flickr", value) for name, value in (("blip", 75.0), ("tuned-blip", 81.0))),
        *(row(name, "flickr", "CIDEr", value) for name, value in (("blip", 70.0), ("tuned-blip", 75.0))),
        *(row("camel", corpus, "CIDEr", value) for corpus, value in (("coco", 128.0), ("flickr", 58.0))),
        *(retrieved(name, "sets", value, candidates="10 set") for name, value in (
            ("clipcap", 29.0), ("tuned", 34.0), ("blip", 24.0), ("people", 22.0), ("own", 25.0)
        )),
    ]  # fmt: skip
    captioners = {
        **BLOCK["captioners"],
        "BLIP": "blip",
        "DiscriTune-BLIP": "tuned-blip",
        "CaMEL": "camel",
        "Own": "own",
    }
    block = {**BLOCK, "captioners": captioners, "corpora": {**BLOCK["corpora"], "ImageCoDe": "sets"}}
    lineage = {**LINEAGE}
    for name, parent in (("blip", None), ("tuned-blip", "blip"), ("camel", None), ("own", None)):
        lineage[name] = {"parent": parent, "corpora": ["coco"], "family": "blip", "retriever": None}
    made = {table.name: table for table in tables(rows, block, lineage)}
    first = [cells[0].text for cells in made["discritune_table1_retrieval"].blocks[0].rows]
    assert first == ["ClipCap-COCO", "DiscriTune-COCO", "Own", "Human captions"]
    assert "ImageCoDe" not in {r["paper_column"] for r in made["discritune_table1_retrieval"].records}
    blip = grid(made["discritune_table4_blip_retrieval"])[""]
    assert blip["BLIP"][:2] == ["75.0", "75.1 ✓"]
    assert blip["DiscriTune-BLIP"][:2] == ["81.0", "80.8 ✓"]
    text = made["discritune_table5_blip"]
    assert [block.heading for block in text.blocks] == ["Flickr (n = 500)"]
    assert [r["published"] for r in text.records if r["metric"] == "CIDEr"] == ["70.63", "74.77"]
    camel = made["discritune_table10_camel"]
    assert [block.heading for block in camel.blocks] == ["COCO (n = 500)", "Flickr (n = 500)"]
    sets = {r["paper_row"]: r for r in made["discritune_table11_lookalikes"].records if r["retriever"] == "clip-a"}
    assert sets["DiscriTune-COCO"]["published"] == "34.0"
    assert sets["Human captions"]["value"] == 22.0
    assert (sets["Own"]["value"], sets["Own"]["verdict"]) == (25.0, "no published value")
    assert {r["paper_column"] for r in made["discritune_table11_lookalikes"].records} == {"ImageCoDe"}
    assert sets["CaMEL"]["value"] is None


def test_spice_is_a_column_only_when_the_run_has_it():
    table = tables()[1]
    assert "SPICE is not in this run." in table.footnotes
    assert "S" not in {column.group for column in table.columns}
    table = tables([*summary(), row("clipcap", "coco", "SPICE", 20.3)])[1]
    assert "SPICE is not in this run." not in table.footnotes
    assert grid(table)["COCO (n = 500)"]["ClipCap-COCO"][-2:] == ["20.30", "20.33 ?"]


def test_the_order_of_config_keys_does_not_matter():
    block = {**BLOCK, "corpora": {"COCO": "coco", "Flickr": "flickr"}}
    block["captioners"] = dict(sorted(BLOCK["captioners"].items()))
    assert [html(t) for t in tables(block=block)] == [html(t) for t in tables()]


def test_records_hold_every_number_and_where_it_comes_from():
    records = {(r["paper_row"], r["paper_column"], r["retriever"]): r for r in tables()[0].records}
    assert len(records) == 3 * 2 * 2
    found = records["DiscriTune-COCO", "COCO", "clip-a"]
    assert {key: found[key] for key in ("captioner", "corpus", "split", "evaluation", "decoding", "candidates")} == {
        "captioner": "tuned", "corpus": "coco", "split": "test", "evaluation": "main", "decoding": "beam5",
        "candidates": "100 file-order",
    }  # fmt: skip
    assert (found["value"], found["ci_low"], found["ci_high"], found["n"]) == (84.0, 83.0, 85.0, 500)
    assert (found["published"], found["verdict"]) == ("84.8", "agrees")
    assert found["difference"] == pytest.approx(-0.8)
    assert (found["config"], found["seed"], found["commit"], found["device"]) == ("made-up", 7, "abc", "cpu")
    missing = records["Human captions", "Flickr", "clip-a"]
    assert (missing["value"], missing["published"], missing["verdict"]) == (None, "88.7", "not in this run")
    assert records["ClipCap-COCO", "COCO", "clip-b"]["verdict"] == "no published value"
    assert csv_text(tables()[0]).count("\n") == 1 + 12


def test_of_several_trainings_the_table_shows_their_mean():
    """A captioner that stands for three has a row of its own training and one of the mean over all."""
    of_three = retrieved("tuned", "coco", 80.0, "clip-a", half=4.0, seeds=3)
    table = tables([*summary(), of_three])[0]
    (record,) = [r for r in table.records if r["seeds"] == 3]
    assert (record["paper_row"], record["value"], record["ci_low"]) == ("DiscriTune-COCO", 80.0, 76.0)
    assert grid(table)[""]["DiscriTune-COCO"][0] == "80.0"
    assert "Trainings of a captioner: 1 to 3." in " ".join(table.footnotes)
    assert "Trainings" not in " ".join(tables()[0].footnotes)
    general = evaluation_table([*summary(), of_three], [], [], PROVENANCE)
    shown = {row[0].detail for block in general.blocks for row in block.rows if row[0].text == "tuned"}
    assert "main, beam5, 3 trainings" in shown
    assert [r["value"] for r in general.records if r["seeds"] == 3] == [80.0]


def test_a_run_that_is_not_comparable_says_so_and_shows_no_differences():
    table = tables(block={**BLOCK, "comparable": False}, provenance={**PROVENANCE, "toy": True})[0]
    assert grid(table)[""]["DiscriTune-COCO"][:2] == ["84.0", "84.8 ○"]
    assert {r["verdict"] for r in table.records} == {"not comparable", "no published value", "not in this run"}
    assert {r["difference"] for r in table.records} == {None}
    notes = " ".join(table.footnotes)
    assert "not comparable with the published column" in notes
    assert "numbers of a toy world" in notes
    assert "toy" not in " ".join(tables()[0].footnotes)


def test_labels_that_the_paper_does_not_have_stand_without_a_published_number():
    block = {
        "comparable": False,
        "captioners": {"ClipCap-Flickr8k": "clipcap", "DiscriTune-Flickr8k": "tuned", "Human captions": "people"},
        "corpora": {"Flickr8k": "coco"},
    }
    retrieval, in_domain, cross_domain, *_ = tables(block=block)
    assert grid(retrieval)[""] == {
        "ClipCap-Flickr8k": ["74.2", "–", "54.2"],
        "DiscriTune-Flickr8k": ["84.0", "–", "64.0"],
        "Human captions": ["60.0", "–", "40.0"],
    }
    assert grid(in_domain)["Flickr8k (n = 500)"]["ClipCap-Flickr8k"][:2] == ["32.00", "–"]
    assert cross_domain.blocks == []
    assert "No captioner of this run was evaluated in this way." in cross_domain.footnotes


def test_concadia_is_one_column_for_retrieval_and_two_blocks_for_text():
    corpora = {"Concadia": "d", "Concadia-Descriptions": "d", "Concadia-Captions": "c"}
    rows = [retrieved("clipcap", "d", 53.7), row("clipcap", "d", "CIDEr", 15.0), row("clipcap", "c", "CIDEr", 4.0)]
    retrieval, _, cross_domain, *_ = tables(rows, {**BLOCK, "corpora": corpora})
    assert {column.group for column in retrieval.columns} == {"", "Concadia (n = 500)"}
    assert list(grid(cross_domain)) == ["Concadia-Descriptions (n = 500)", "Concadia-Captions (n = 500)"]


def test_notes_name_the_run():
    notes = tables()[0].made
    assert "Made from the config 'made-up', seed 7, commit abc, device cpu." in notes
    assert "Versions: numpy 2." in notes
    notes = tables()[0].footnotes
    assert f"Decoding: beam5. Candidates: 100 file-order. {OVER_IMAGES}" in notes
    assert "COCO is coco, test; Flickr is flickr, test." in notes


def test_a_captioner_of_unknown_training_is_left_out_of_tables_2_and_3():
    lineage = copy.deepcopy(LINEAGE)
    lineage["clipcap"]["corpora"] = []
    _, in_domain, cross_domain, *_ = tables(lineage=lineage)
    note = "ClipCap-COCO is left out: the config does not say what it was trained on."
    for table in (in_domain, cross_domain):
        assert note in table.footnotes
        assert all("ClipCap-COCO" not in rows for rows in grid(table).values())


def test_markup_in_names_is_escaped():
    block = copy.deepcopy(BLOCK)
    block["captioners"] = {"<script>x_1</script>|": "clipcap"}
    table = tables(block=block)[0]
    assert "<script>x_1" not in html(table)
    assert "&lt;script&gt;x_1&lt;/script&gt;|" in html(table)
    assert r"&lt;script&gt;x\_1&lt;/script&gt;\|" in markdown(table)
    assert r"\textless{}script\textgreater{}x\_1\textless{}/script\textgreater{}\textbar{}" in latex(table).replace(
        r"\allowbreak{}", ""
    )


# -------------------------------------------------------------------------------------------------- measurements
def test_several_evaluations_of_the_same_thing_must_be_named():
    rows = [*summary(), retrieved("tuned", "coco", 50.0, evaluation="other", decoding="greedy")]
    with pytest.raises(AmbiguousError, match=r"P@1 of tuned on coco .*\(main, other\).*evaluations"):
        tables(rows)
    table = tables(rows, {**BLOCK, "evaluations": ["other"]})[0]
    assert grid(table)[""]["DiscriTune-COCO"][0] == "50.0"


def measurements(rows, comparisons=()):
    return Reproduction({}).run(rows, comparisons)


def test_candidates_go_before_the_full_split():
    place = Coordinates("tuned", "coco", "P@1", "clip-a")
    assert measurements(summary()).value(place).value == 84.0
    only_full = measurements([retrieved("tuned", "coco", 30.0, candidates="full")])
    assert only_full.value(place).value == 30.0


def test_a_paired_difference_is_used_in_either_direction():
    run = measurements(summary(), [compared("tuned", "clipcap", "coco", "CIDEr", -36.0, 2.0)])
    assert run.either_difference(Coordinates("tuned", "coco", "CIDEr"), "clipcap").value == -36.0
    turned = run.either_difference(Coordinates("clipcap", "coco", "CIDEr"), "tuned")
    assert (turned.value, turned.ci_low, turned.ci_high, turned.p_value) == (36.0, 34.0, 38.0, 0.0004)


def test_without_a_pair_the_interval_follows_from_both_values():
    """Half-widths 3 and 4 add up as the sides of a right triangle."""
    run = measurements([row("a", "k", "CIDEr", 50.0, 3.0), row("b", "k", "CIDEr", 40.0, 4.0)])
    found = run.either_difference(Coordinates("a", "k", "CIDEr"), "b")
    assert (found.value, found.ci_low, found.ci_high, found.p_value) == (10.0, 5.0, 15.0, None)
    assert run.either_difference(Coordinates("a", "k", "CIDEr"), "nobody") is None


# --------------------------------------------------------------------------------------- the table of everything
def test_evaluation_table_has_every_row_of_the_summary():
    rows = summary()
    table = evaluation_table(rows, [], [], PROVENANCE)
    assert [r["value"] for r in table.records] == [r["value"] for r in rows]
    listed = ["captioner", "corpus", "split", "decoding", "retriever", "candidates", "metric"]
    assert csv_text(table).splitlines()[0].split(",")[:12] == [*listed, "value", "ci_low", "ci_high", "seeds", "n"]
    assert (
        csv_text(table)
        .splitlines()[1]
        .startswith("clipcap,coco,test,beam5,clip-a,100 file-order,P@1,74.24,73.24,75.24,1,500")
    )
    headings = [(column.group, column.heading) for column in table.columns]
    assert headings == [
        ("", "captioner"), ("", "n"), ("similarity to the references", "BLEU@4"),
        ("similarity to the references", "CIDEr"), ("similarity to the references", "METEOR"),
        ("clip-a, 100 file-order", "P@1"), ("clip-a, full", "P@1"),
        ("clip-b, 100 file-order", "P@1"), ("clip-b, full", "P@1"),
    ]  # fmt: skip
    assert grid(table)["coco, test"]["people"] == ["500", "–", "–", "–", "60.0", "30.0", "40.0", "10.0"]
    assert grid(table)["flickr, test"]["tuned"] == ["400 to 500", "19.00", "57.00", "9.50", "79.0", "–", "59.0", "–"]


def test_metrics_without_references_are_not_called_similarity():
    first = summary()[0]
    alone = [{**first, "retriever": None, "candidates": None, "metric": name} for name in ("vocabulary", "CIDEr")]
    scored = {**first, "retriever": "clip-a", "candidates": None, "metric": "CLIPScore"}
    table = evaluation_table([*alone, scored], [], [], PROVENANCE)
    assert [(column.group, column.heading) for column in table.columns][2:] == [
        ("similarity to the references", "CIDEr"), ("other metrics", "vocabulary"), ("clip-a", "CLIPScore"),
    ]  # fmt: skip


def test_evaluation_table_names_the_devices_of_each_row():
    table = evaluation_table(
        [{**row, "device": device} for row in summary()[:1] for device in ("a, b", "")], [], [], PROVENANCE
    )
    assert [record["device"] for record in table.records] == ["a, b", ""]
    assert csv_text(table).splitlines()[2].endswith(",made-up,7,abc,")


# ----------------------------------------------------------------------------------------------------- the folder
def test_collect_copies_flat_and_links_every_table(tmp_path):
    table = evaluation_table(summary(), [], ["people"], PROVENANCE)
    for render, ending in ((csv_text, "csv"), (html, "html")):
        (tmp_path / f"evaluation.{ending}").write_text(render(table))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "plain.csv").write_text("a\n1\n")
    files = [tmp_path / "evaluation.csv", tmp_path / "evaluation.html", tmp_path / "deep" / "plain.csv"]
    folder = tmp_path / "results" / "tables"
    folder.mkdir(parents=True)
    (folder / "stale.csv").write_text("old")
    collect(files, folder)
    assert {p.name for p in folder.iterdir()} == {
        "evaluation.csv", "evaluation.html", "plain.csv", "index.html", "index.md",
    }  # fmt: skip
    assert [p.name for p in folder.parent.iterdir()] == ["tables"]
    index = (folder / "index.html").read_text()
    assert '<a href="evaluation.html">Every metric of this run</a>' in index
    assert "Each captioner on each corpus, with 95 % intervals.</p>" in index
    assert '<a href="plain.csv">plain</a>' in index
    markdown_index = (folder / "index.md").read_text()
    assert "**Every metric of this run** ([csv](evaluation.csv), [html](evaluation.html))" in markdown_index
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    collect(reversed(files), folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_the_index_describes_a_page_of_cards_by_its_description(tmp_path):
    files = '<p class="files">This table as <a href="claims.csv">csv</a>.</p>'
    page = f'<title>Claims</title>{files}<p class="description">What papers claim.</p>'
    (tmp_path / "claims.html").write_text(page)
    (tmp_path / "claims.csv").write_text("a\n1\n")
    collect([tmp_path / "claims.csv", tmp_path / "claims.html"], tmp_path / "tables")
    index = (tmp_path / "tables" / "index.html").read_text()
    assert "What papers claim.</p>" in index
    assert "This table as" not in index


def test_the_index_begins_with_how_many_conditions_of_validity_are_met(tmp_path):
    table = validity_table([Finding("variety", "base", 0.6, None, 9, "images")], [], PROVENANCE)
    for render, ending in ((csv_text, "csv"), (html, "html")):
        (tmp_path / f"validity.{ending}").write_text(render(table))
    collect([tmp_path / "validity.csv", tmp_path / "validity.html"], tmp_path / "tables")
    text = (tmp_path / "tables" / "index.md").read_text().splitlines()
    assert text[2] == "[1 of 1 conditions of validity are met.](validity.html)"
    page = (tmp_path / "tables" / "index.html").read_text()
    first = page.index('<p><a href="validity.html">1 of 1 conditions of validity are met.</a></p>')
    assert first < page.index("Tables and figures in one page")


def test_caveats_are_in_the_title_of_each_table_page_and_figure(tmp_path):
    said = "these numbers mean nothing; only 20 images"
    table = validity_table(
        [Finding("variety", "base", 0.6, None, 9, "images")],
        [],
        {**PROVENANCE, "caveats": ["these numbers mean nothing", "only 20 images"]},
    )
    assert table.title.endswith(f" [{said}]")
    assert "Caveat: only 20 images." in table.footnotes
    renderers = {"csv": csv_text, "md": markdown, "tex": latex, "html": html}
    for ending, render in renderers.items():
        (tmp_path / f"validity.{ending}").write_text(render(table))
        assert said in render(table), ending
    assert not any("caveats" in note for note in table.made)
    (tmp_path / "figure1.png").touch()
    listed = Listed(
        figures=[tmp_path / "figure1.png"],
        pages={"results/browser/index.html": ["The browser", "Every caption."]},
        caveats=["these numbers mean nothing", "only 20 images"],
    )
    collect([tmp_path / f"validity.{ending}" for ending in renderers], tmp_path / "tables", (), listed)
    page, text = ((tmp_path / "tables" / f"index.{ending}").read_text() for ending in ("html", "md"))
    assert f"<h1>Tables and figures of this run [{said}]</h1>" in page
    assert 'href="../browser/index.html"' in page  # wherever the folder is: in a bucket, it is a local copy
    for title in (table.title, f"The browser [{said}]", f"Figure 1: figure1 [{said}]"):
        assert title in page
        assert title in text


def test_collect_refuses_two_tables_of_the_same_name_and_keeps_the_old_folder(tmp_path):
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "kept.csv").write_text("old")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "t.csv").write_text(name)
    with pytest.raises(ValueError, match=r"two tables are called 't\.csv'"):
        collect([tmp_path / "a" / "t.csv", tmp_path / "b" / "t.csv"], folder)
    with pytest.raises(FileNotFoundError):
        collect([tmp_path / "a" / "t.csv", tmp_path / "gone.csv"], folder)
    assert [p.name for p in folder.iterdir()] == ["kept.csv"]


def test_collect_leaves_nothing_behind_on_a_full_disk(tmp_path, monkeypatch):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("1")
    copy = shutil.copyfile

    def copy_one(source, target):
        if source.name == "b.csv":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", copy_one)
    with pytest.raises(OSError, match="No space left"):
        collect([tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "results" / "tables")
    assert list((tmp_path / "results").iterdir()) == []


# ---------------------------------------------------------------------------------------------------- the scripts
def columns(rows, kind):
    return {name: [r[name] for r in rows] for name in kind.columns}


def test_scripts_go_from_parquet_to_a_folder_of_tables(tmp_path):
    write_table(tmp_path / "summary.parquet", SUMMARY, columns(summary(), SUMMARY))
    pairs = [compared("tuned", "clipcap", "coco", "P@1", 9.8, 2.0, retriever="clip-a", candidates="100 file-order")]
    write_table(tmp_path / "comparisons.parquet", COMPARISONS, columns(pairs, COMPARISONS))
    write_table(tmp_path / "differences.parquet", ROLE_DIFFERENCES, columns([], ROLE_DIFFERENCES))
    measured = {name: tmp_path / f"{name}.parquet" for name in ("summary", "comparisons", "differences")}
    write_table(tmp_path / "values.parquet", ROLE_VALUES, columns([], ROLE_VALUES))
    names = ["discritune_table1_retrieval", "discritune_table2_in_domain", "discritune_table3_cross_domain"]
    outputs = [str(path) for path in table_files(tmp_path / "staged", names).values()]
    params = {"config": BLOCK, "lineage": LINEAGE}
    run_paper(
        "tabulate", "discritune", {**measured, "values": tmp_path / "values.parquet"}, {"tables": outputs},
        **params, retrievers={}, participants=[],
    )  # fmt: skip
    outputs += [str(tmp_path / "staged" / f"evaluation.{e}") for e in ("csv", "md", "html")]
    three = SimpleNamespace(tables=outputs[-3:])
    inputs = SimpleNamespace(summary=tmp_path / "summary.parquet", comparisons=measured["comparisons"])
    made_of = SimpleNamespace(provenance={"config": "made-up", "seed": 7}, humans=["people"])
    load_script("collect_evaluation").main(SimpleNamespace(input=inputs, params=made_of, output=three))
    outputs += [str(tmp_path / "staged" / f"claims.{e}") for e in ("csv", "md", "html")]
    of_paper = {name: PAPERS / "discritune" / name for name in ("claims.yaml", "published.csv")}
    files = measured | {name.split(".")[0]: path for name, path in of_paper.items()}
    inputs = Named(summary=measured["summary"], **{f"discritune_{name}": path for name, path in files.items()})
    made_of.papers, three = (
        {"discritune": params},
        SimpleNamespace(tables=outputs[-3:-1], page=outputs[-1], effects=tmp_path / "effects.parquet"),
    )
    load_script("check_claims").main(SimpleNamespace(input=inputs, params=made_of, output=three))
    listed = Named(papers={"discritune": "Dessì et al. 2023, *Title*"}, figures={}, pages={}, tables_of_figures={})
    given = SimpleNamespace(tables=outputs, pictures=[tmp_path / "staged" / "pictures"], figures=[])
    folder = SimpleNamespace(input=given, params=listed, output=[tmp_path / "tables"])
    load_script("collect_tables").main(folder)
    made = {path.name for path in (tmp_path / "tables").iterdir()}
    assert made == {Path(path).name for path in outputs} | {"index.html", "index.md"}
    assert all(path.stat().st_size for path in (tmp_path / "tables").iterdir())
    assert "retrieval-in-domain" in (tmp_path / "tables" / "claims.csv").read_text()
