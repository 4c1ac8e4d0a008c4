"""The table of questions: captioners with their shares by kind, and their differences from their parents."""

import pytest
from support.running import run_script

from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.questions_table import questions_table
from captionlab.reporting.tables.render import MISSING
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import write_table

PROVENANCE = {"config": "made-up", "seed": 7, "commit": "abc"}
PLACE = {"corpus": "toy", "split": "test", "evaluation": "main", "decoding": "greedy", "candidates": None, "device": ""}
KINDS = ("question accuracy", "question accuracy, colour", "question accuracy, count", "unanswered questions")


def value(captioner, metric, number, retriever="mine", seeds=1):
    ends = {"value": number, "ci_low": number - 1, "ci_high": number + 1}
    return {**PLACE, "captioner": captioner, "metric": metric, "retriever": retriever, "seeds": seeds, "n": 9, **ends}


def difference(captioner, against, metric, number):
    ends = {"difference": number, "ci_low": number - 1, "ci_high": number + 1}
    tested = {"p_value": 0.1, "p_holm": 0.1, "test": "paired bootstrap", "seeds": 1, "n": 9}
    return {
        **PLACE,
        "captioner": captioner,
        "against": against,
        "metric": metric,
        "retriever": "mine",
        **ends,
        **tested,
    }


SUMMARISED = [
    value("tuned", "BLEU@4", 30.0, None),
    *(value("tuned", metric, 60.0 + n) for n, metric in enumerate(KINDS)),
    *(value("base", metric, 50.0 + n) for n, metric in enumerate(KINDS[:1] + KINDS[2:])),
]
COMPARED = [
    difference("tuned", "base", "BLEU@4", 3.0),
    *(difference("tuned", "base", metric, 10.0) for metric in KINDS[:1] + KINDS[2:]),
]


def test_rows_and_cells():
    table = questions_table(SUMMARISED, COMPARED, PROVENANCE)
    assert [column.heading for column in table.columns] == ["captioner", "n", "all", "colour", "count", "no answer, %"]
    (block,) = table.blocks
    assert block.heading == "mine: toy, test, main"
    assert [[cell.text for cell in row] for row in block.rows] == [
        ["tuned", "9", "60.0", "61.0", "62.0", "63.0"],
        ["less base", "9", "+10.0", MISSING, "+10.0", "+10.0"],
        ["base", "9", "50.0", MISSING, "51.0", "52.0"],
    ]
    assert [cell.detail for cell in block.rows[0]][:3] == ["greedy", "", "[59.0, 61.0]"]


def test_each_set_corpus_and_evaluation_has_a_block():
    rows = [value("base", KINDS[0], 50.0), value("base", KINDS[0], 40.0, "other")]
    rows += [{**rows[0], "corpus": "sea"}, {**rows[0], "evaluation": "again"}, value("base", KINDS[0], 1.0, seeds=3)]
    table = questions_table(rows, [], PROVENANCE)
    headings = ["mine: toy, test, main", "other: toy, test, main", "mine: sea, test, main", "mine: toy, test, again"]
    assert [block.heading for block in table.blocks] == headings
    assert [row[0].detail for row in table.blocks[0].rows] == ["greedy", "greedy, 3 trainings"]


def test_the_script_writes_every_format(tmp_path):
    files = {"summary": tmp_path / "summary.parquet", "comparisons": tmp_path / "comparisons.parquet"}
    write_table(files["summary"], SUMMARY, SUMMARISED)
    write_table(files["comparisons"], COMPARISONS, COMPARED)
    outputs = [tmp_path / f"questions.{ending}" for ending in ("csv", "md", "html")]
    run_script("collect_questions", files, {"tables": outputs}, provenance=PROVENANCE)
    records = read_records(outputs[0])
    assert len(records) == 4 + 3 + 3
    assert {(row["captioner"], row["against"]) for row in records} == {
        ("tuned", ""),
        ("tuned", "base"),
        ("base", ""),
    }
    assert float(records[-1]["value"]) == pytest.approx(10.0)
    assert "Questions answered from captions" in outputs[1].read_text()
    assert outputs[2].exists()
