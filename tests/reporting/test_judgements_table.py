"""The table of judgements, with numbers that are counted by hand from a few ratings and pairs."""

import pytest
from support.running import run_script

from captionlab.judgements.correlation import Scores, agreement_rows
from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES, SLICES
from captionlab.judgements.slices import slice_rows
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.judgement_differences_table import judgement_differences_table
from captionlab.reporting.tables.judgement_slices_table import judgement_slices_table
from captionlab.reporting.tables.judgements_table import SIMULATED_NOTE, judgements_table
from captionlab.reporting.tables.render import MISSING
from captionlab.statistics.multiple import holm
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
PAIRS = [pair("a", 40, "HC"), pair("b", 8, "HC"), pair("c", 30, "MM"), pair("d", 20, "MM")]
PREFERRED = agreement_rows([scores("CIDEr", [2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 1.0])], [], PAIRS, seed=1)[0]


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


def test_differences_of_metrics_with_holm():
    """CIDEr is right on three of four pairs, BLEU-4 on one, and METEOR as CIDEr."""
    metrics = [
        scores("CIDEr", [2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 1.0]),
        scores("BLEU@4", [1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 1.0, 2.0], "b32"),
        scores("METEOR", [2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 2.0, 1.0]),
    ]
    rows = agreement_rows(metrics, [], PAIRS, seed=1)[1]
    for category in (None, "HC", "MM"):
        of = [row for row in rows if row["category"] == category]
        assert [row["p_holm"] for row in of] == holm([row["p_value"] for row in of])
    table = judgement_differences_table({"pairs": rows}, ["pairs"], PROVENANCE)
    assert [(column.heading, column.group.rpartition(", ")[2]) for column in table.columns] == [
        ("metrics", ""), ("n", ""), ("difference", "all"), ("p, Holm", "all"), ("difference", "HC"), ("p, Holm", "HC"),
        ("difference", "MM"), ("p, Holm", "MM"),
    ]  # fmt: skip
    assert table.blocks[0].heading == "pairs, simulated judges"
    assert SIMULATED_NOTE in table.footnotes
    first, same, back = table.blocks[0].rows
    assert [cell.text for cell in first[:3]] == ["CIDEr \N{MINUS SIGN} BLEU@4 by b32", "4", "+50.0"]
    assert (same[2].text, same[3].text) == ("+0.0", "1.000")
    assert back[4].text == "-100.0"
    record = table.records[0]
    assert (record["judgements"], record["against"], record["difference"]) == ("pairs", "BLEU@4", 0.5)


def test_slices_have_a_block_each():
    images = [f"image{number}" for number in range(12)]
    captions = [
        {"image_id": image, "caption_index": 0, "caption": "a dog", "source": f"{number % 2}", "judgements": 1}
        for number, image in enumerate([*images, *(f"{image}, too" for image in images)])
    ]
    rated = [rating(row["image_id"], float(number % 5)) for number, row in enumerate(captions)]
    metric = Scores("CIDEr", None, {(row["image_id"], 0): row["rating"] for row in rated})
    none = Scores("SPICE", None, {})
    table = judgement_slices_table({"mine": slice_rows([metric, none], rated, captions, seed=1)}, [], PROVENANCE)
    assert [block.heading for block in table.blocks] == ["mine: source, 0, 12 images", "mine: source, 1, 12 images"]
    cider, spice = table.blocks[0].rows
    assert [cell.text for cell in cider[:3]] == ["CIDEr", "12", "100.0"]
    assert spice[2].note == "SPICE: 12 of 12 captions have no score and are left out; no judged caption has a score."
    assert {row["by"] for row in table.records} == {"source"}


def test_the_script_writes_every_format(tmp_path):
    kinds = {"correlations": CORRELATIONS, "differences": DIFFERENCES, "slices": SLICES}
    files = {table: [tmp_path / f"{name}_{table}.parquet" for name in ("expert", "pascal")] for table in kinds}
    for table, kind in kinds.items():
        for file, rows in zip(files[table], (RATED, PREFERRED), strict=True):
            write_table(file, kind, rows if table == "correlations" else [])
    names = {"tables": "judgements", "differences": "judgement_differences", "slices": "judgement_slices"}
    made = {key: [tmp_path / f"{name}.{ending}" for ending in ("csv", "md", "html")] for key, name in names.items()}
    params = {"judgements": ["expert", "pascal"], "simulated": []}
    run_script("collect_judgements", files, made, **params, provenance=PROVENANCE)
    outputs = made["tables"]
    assert "by length and source" in made["slices"][1].read_text()
    assert "Metrics against each other" in made["differences"][1].read_text()
    rows = read_records(outputs[0])
    assert [row["judgements"] for row in rows] == ["expert"] * len(RATED) + ["pascal"] * len(PREFERRED)
    assert "Metrics against those who judged captions" in outputs[1].read_text()
    assert outputs[2].exists()
