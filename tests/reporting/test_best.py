"""The best values of columns: by what each metric declares, among rows that can be compared, and never of people."""

import pytest
from support.reporting_run import PROVENANCE, row

from captionlab.reporting.runs.published import Published
from captionlab.reporting.runs.values import PaperRun
from captionlab.reporting.tables.best import BETTER, with_best
from captionlab.reporting.tables.builder import Line, Number, rows_of
from captionlab.reporting.tables.evaluation_table import evaluation_table
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.formats.latex import latex
from captionlab.reporting.tables.formats.markdown import markdown
from captionlab.reporting.tables.render import MISSING, Cell, interval_cell
from captionlab.reporting.tables.sheets import Sheet


def column(*values: float | None) -> list[list[Cell]]:
    return [[Cell(MISSING) if value is None else interval_cell((value, 0, 100), ".1f")] for value in values]


def marked(rows) -> list[int]:
    return [place for place, cells in enumerate(rows) if cells[-1].best]


@pytest.mark.parametrize(
    ("metric", "values", "best"),
    [
        ("CIDEr", (1.0, 3.0, 2.0), [1]),
        ("mean rank", (1.5, 3.0, 2.0), [0]),
        ("perplexity", (9.0, 8.0, None), [1]),
        ("CHAIRi", (9.0, 8.0, 7.0), [2]),
        ("CIDEr", (1.0, 3.04, 3.01), [1, 2]),  # printed alike
        ("BLEU@4", (0.0, 0.0, 0.04), []),  # all are printed alike, so that none is better
        ("BLEU@4", (0.0, 0.0, 0.06), [2]),
        ("CHAIRi", (0.0, 0.0, 0.06), [0, 1]),
        ("CIDEr", (1.0, None), []),  # no rival
        ("length", (1.0, 3.0), []),  # neither is better
        ("a metric of nobody", (1.0, 3.0), []),
    ],
)
def test_the_best_of_a_metric(metric, values, best):
    assert marked(with_best(column(*values), 0, metric)) == best


def test_who_is_aside_is_neither_best_nor_a_rival():
    assert marked(with_best(column(9.0, 3.0, 2.0), 0, "CIDEr", [0])) == [1]
    assert marked(with_best(column(9.0, 3.0), 0, "CIDEr", [0])) == []


def test_metrics_say_which_values_are_better():
    assert [BETTER[name] for name in ("P@1", "R@5", "BLEU@4", "SPICE", "CLIPScore", "RefPAC-S", "score")] == [1] * 7
    assert [BETTER[name] for name in ("mean rank", "CHAIRi", "CHAIRs", "mBLEU-4", "perplexity")] == [-1] * 5
    assert "vocabulary" not in BETTER


def run_of(**values: float) -> Sheet:
    place = {"corpus": "coco", "measure": "CIDEr", "scorer": None, "experiment": "generated", "source": None}
    rows = [
        {**place, "level": None, "subject": name, "value": value, "ci_low": value, "ci_high": value, "seeds": 1, "n": 9}
        for name, value in values.items()
    ]
    return Sheet(PaperRun(rows, [], Published("a paper", {}), False, {}), PROVENANCE)


def test_lines_that_differ_in_more_than_whom_they_are_about_are_no_rivals():
    sheet, number = run_of(a=1.0, b=2.0, people=3.0), Number({"measure": "CIDEr"})
    lines = [Line([name], {"subject": name}, of_people=name == "people") for name in ("a", "b", "people")]
    assert marked(rows_of(sheet, None, "", "coco", lines, [number])) == [1]
    others = [Line([name], {"subject": name, "scorer": scorer}) for name, scorer in (("a", None), ("b", "clip"))]
    assert marked(rows_of(sheet, None, "", "coco", others, [number])) == []


def test_the_best_is_bold_in_every_format_and_said_below():
    people = row("people", "coco", "CIDEr", 70.0) | {"decoding": "given"}  # captions of people are not decoded
    rows = [row("a", "coco", "CIDEr", 50.0), row("b", "coco", "CIDEr", 60.0), people]
    table = evaluation_table(rows, [], ["people"], PROVENANCE)
    assert [cells[2].best for cells in table.blocks[0].rows] == [False, True, False]
    texts = (html(table), markdown(table), latex(table))
    assert [
        text.count(bold) for text, bold in zip(texts, ("<strong>60.00<", "**60.00**", r"\textbf{60.00}"), strict=True)
    ] == [1] * 3
    assert ["Bold: the best value" in text for text in texts] == [True] * 3
    alone = evaluation_table(rows[:1], [], [], PROVENANCE)
    assert "Bold" not in html(alone)
