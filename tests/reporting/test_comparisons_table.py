"""Tables of pairwise comparisons, with numbers that are counted by hand."""

import math

import pytest

from captionlab.comparisons.ranking import ranking_rows
from captionlab.comparisons.schemas import OWN_FIRST, OWN_SECOND
from captionlab.reporting.tables.comparisons_table import Shown, comparisons_table, pairs_table
from captionlab.reporting.tables.formats.html import html
from captionlab.reporting.tables.render import MISSING

PROVENANCE = {"config": "made-up", "seed": 7, "commit": "abc"}
NAMES = ["a", "b", "c"]


def pair(image, captioner, against, answers, asked=True):
    """Rows of a pair of captions, with the answers in both orders."""
    key = {"corpus": "coco", "image_id": image, "captioner": captioner, "against": against, "asked": asked}
    return [
        {**key, "order": order, "answer": answer, "reason": answer and f"{answer} is <b>better</b>"}
        for order, answer in zip((OWN_FIRST, OWN_SECOND), answers, strict=True)
    ]


# a and c tie, b loses against both, always against c and in half of the answers against a; once there is no answer.
ROWS = [
    row
    for image in ("1", "2", "3", "4")
    for row in (
        *pair(image, "a", "b", ("first", "first") if image < "3" else ("first", "second")),
        *pair(image, "a", "c", ("tie", "tie"), asked=image < "3"),
        *pair(image, "b", "c", ("second", "first") if image < "4" else ("second", None)),
    )
]
RANKINGS = ranking_rows(ROWS, NAMES, 1)


def cells(table, block=0):
    headings = [column.heading for column in table.columns]
    return [dict(zip(headings, row, strict=True)) for row in table.blocks[block].rows]


def test_captioners_are_sorted_by_strength_with_their_win_rates():
    table = comparisons_table({"quality": RANKINGS}, {"quality": "judge"}, PROVENANCE)
    assert [block.heading for block in table.blocks] == ["quality: coco, 4 images, compared by judge"]
    first, second, third, model = cells(table)
    assert [row["captioner"].text for row in (first, second, third)] == ["c", "a", "b"]
    assert [row["n"].text for row in (first, second, third)] == ["7", "8", "7"]
    assert (first["a"].text, first["b"].text, first["c"].text) == ("50.0", "100.0", "")
    assert (second["b"].text, third["a"].text, third["c"].text) == ("75.0", "25.0", "0.0")
    strengths = [row["strength"].value for row in (first, second, third)]
    assert strengths == sorted(strengths, reverse=True)
    assert sum(strengths) == pytest.approx(0)
    assert first["strength"].text == f"{strengths[0]:+.2f}"
    # a and c tie, so b alone always loses to somebody, but not to everybody.
    assert [row["strength"].note for row in (first, second, third)] == ["", "", ""]
    low, high = (float(end) for end in second["b"].detail.strip("[]").split(","))
    turned = [100 - float(end) for end in third["a"].detail.strip("[]").split(",")]
    assert [low, high] == pytest.approx(turned[::-1], abs=0.11)
    assert (model["captioner"].text, model["n"].text) == ("all, by the model", "20")
    # Both orders agree for a and b on 2 of 4 images, for a and c on both that were asked, for b and c on 3.
    assert model["orders agree"].text == f"{100 * 7 / 9:.1f}"
    assert (model["ties"].text, model["no answer"].text) == (f"{100 * 4 / 19:.1f}", "5.0")
    assert model["first preferred"].text == f"{100 * 9 / 15:.1f}"


def test_records_have_every_number():
    table = comparisons_table({"quality": RANKINGS, "other": RANKINGS}, {"quality": "judge", "other": "it"}, PROVENANCE)
    assert len(table.records) == 2 * (3 + 3 + 4)
    assert {(row["comparison"], row["model"]) for row in table.records} == {("quality", "judge"), ("other", "it")}
    assert {row["measure"] for row in table.records} >= {"win rate", "strength", "orders agree"}
    assert {row["config"] for row in table.records} == {"made-up"}


def test_captioners_of_other_comparisons_and_numbers_that_are_missing():
    rows = ranking_rows([*pair("1", "a", "d", (None, None))], ["a", "d"], 1)
    table = comparisons_table(
        {"quality": RANKINGS, "none": rows}, dict.fromkeys(("quality", "none"), "judge"), PROVENANCE
    )
    one, other, model = cells(table, 1)
    assert [one[name].text for name in ("strength", "a", "b", "d")] == [MISSING, "", MISSING, MISSING]
    assert other["d"].text == ""
    assert model["no answer"].text == "100.0"
    assert model["orders agree"].text == MISSING


def test_strengths_stand_for_win_rates():
    rows = [
        row for image in range(30) for row in pair(str(image), "a", "b", ("first", "first" if image < 6 else "second"))
    ]
    found = {row["measure"]: row["value"] for row in ranking_rows(rows, ["a", "b"], 1) if row["captioner"] == "a"}
    won = 6 * 0.5 + 24
    assert found["win rate"] == pytest.approx(won / 30)
    assert 1 / (1 + math.exp(-2 * found["strength"])) == pytest.approx((won + 0.5) / 31)


def test_a_note_says_where_a_strength_has_no_bound():
    rows = [row for image in "123" for row in pair(image, "a", "b", ("first", "second"))]
    one, other, _ = cells(comparisons_table({"q": ranking_rows(rows, ["a", "b"], 1)}, {"q": "judge"}, PROVENANCE))
    assert "wins on all images" in one["strength"].note
    assert "loses on all images" in other["strength"].note


def test_pairs_are_shown_in_the_order_that_the_model_read():
    captions = {"a": "a dog", "b": "a <i>cat</i>", "c": "a bird"}
    shown = {("coco", image): Shown(b"png", captions) for image in ("1", "2", "3", "4")}
    table = pairs_table("quality", "judge", ROWS, shown, PROVENANCE)
    assert table.name == "comparisons_quality_pairs"
    assert [block.heading for block in table.blocks] == [f"coco, {image}" for image in "1234"]
    lines = [[(cell.text, cell.detail) for cell in row] for row in table.blocks[0].rows[:2]]
    assert lines == [
        [("a and b", ""), ("a dog", "a"), ("a <i>cat</i>", "b"), ("a", ""), ("first is <b>better</b>", "")],
        [("a and b", ""), ("a <i>cat</i>", "b"), ("a dog", "a"), ("b", ""), ("first is <b>better</b>", "")],
    ]
    tie, nothing = table.blocks[3].rows[2], table.blocks[3].rows[5]
    assert [cell.text for cell in tie[3:]] == ["tie", "identical"]
    assert [cell.text for cell in nothing[3:]] == [MISSING, ""]
    assert [(row["caption"], row["against_caption"]) for row in table.records[:1]] == [("a dog", "a <i>cat</i>")]
    page = html(table)
    assert "<b>better" not in page
    assert "a &lt;i&gt;cat" in page
