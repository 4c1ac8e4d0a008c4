"""The table of judgements, with numbers that are counted by hand from a few ratings and pairs."""

import pytest
from support.running import run_script

from captionlab.judgements.correlation import Scores, agreement_rows
from captionlab.judgements.schemas import CORRELATIONS
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.judgements_table import SIMULATED_NOTE, judgements_table
from captionlab.reporting.tables.render import MISSING
from captionlab.storage.tables import write_table

PROVENANCE = {"config": "made-up", "seed": 7, "commit": "abc"}


def rating(image, value):
    return {"image_id": image, "caption_index": 0, "judge": "crowd", "rating": value}


def pair(image, votes, category):
    counted = {"votes": votes, "other_votes": 48 - votes, "category": category}
    return {"image_id": image, "caption_index": 0, "other_index": 1, **counted}


def scores(metric, values, scorer=None):
    """Scores of the captions of images a, b, c and d: one each, or two."""
    keys = [(image, index) for image in "abcd" for index in range(len(values) // 4)]
    return Scores(metric, scorer, dict(zip(keys, values, strict=True)))


# Of six pairs of ratings 1, 2, 3, 4 the scores turn round two (b and c, b and d): tau is (4 - 2) / 6.
RATED = agreement_rows(
    [scores("CIDEr", [1.0, 4.0, 2.0, 3.0]), scores("CLIPScore", [1.0, 1.0, 1.0, 1.0], "b32")],
    [rating(image, value) for image, value in zip("abcd", (1.0, 2.0, 3.0, 4.0), strict=True)],
    [],
    seed=1,
)[0]
# Three of four pairs are as people prefer: both of HC, one of MM.
PREFERRED = agreement_rows(
    [scores("CIDEr", [2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 1.0])],
    [],
    [pair("a", 40, "HC"), pair("b", 8, "HC"), pair("c", 30, "MM"), pair("d", 20, "MM")],
    seed=1,
)[0]


def cells(table, block):
    headings = [column.heading for column in table.columns]
    return [dict(zip(headings, row, strict=True)) for row in table.blocks[block].rows]


def test_numbers_are_those_counted_by_hand():
    table = judgements_table({"rated": RATED, "pairs": PREFERRED}, [], PROVENANCE)
    assert [column.heading for column in table.columns] == [
        "metric", "n", "tau-b", "tau-c", "Pearson", "all", "HC", "MM",
    ]  # fmt: skip
    assert [block.heading for block in table.blocks] == ["rated, 4 images", "pairs, 4 images"]
    cider, clipscore = cells(table, 0)
    assert (cider["metric"].text, cider["n"].text, cider["tau-b"].text) == ("CIDEr", "4", "33.3")
    assert (clipscore["metric"].detail, clipscore["tau-b"].text) == ("by b32", MISSING)
    assert clipscore["tau-b"].note == "CLIPScore: all scores are the same."
    assert cider["all"].text == MISSING
    (pairs,) = cells(table, 1)
    shares = [pairs[heading].text for heading in ("n", "all", "HC", "MM", "tau-b")]
    assert shares == ["4", "75.0", "100.0", "50.0", MISSING]
    record = next(record for record in table.records if record["coefficient"] == "tau-b")
    assert (record["judgements"], record["metric"], record["value"]) == ("rated", "CIDEr", pytest.approx(1 / 3))
    assert SIMULATED_NOTE not in table.footnotes


def test_simulated_judges_are_named():
    table = judgements_table({"rated": RATED}, ["rated"], PROVENANCE)
    assert table.blocks[0].heading == "rated, 4 images, simulated judges"
    assert SIMULATED_NOTE in table.footnotes


def test_the_script_writes_every_format(tmp_path):
    files = [tmp_path / "expert.parquet", tmp_path / "pascal.parquet"]
    for file, rows in zip(files, (RATED, PREFERRED), strict=True):
        write_table(file, CORRELATIONS, rows)
    outputs = [tmp_path / f"judgements.{ending}" for ending in ("csv", "md", "html")]
    names = {"judgements": ["expert", "pascal"], "simulated": []}
    run_script("collect_judgements", {"correlations": files}, {"tables": outputs}, **names, provenance=PROVENANCE)
    rows = read_records(outputs[0])
    assert [row["judgements"] for row in rows] == ["expert"] * len(RATED) + ["pascal"] * len(PREFERRED)
    assert "Metrics against those who judged captions" in outputs[1].read_text()
    assert outputs[2].exists()
