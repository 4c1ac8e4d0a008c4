"""The table of slices: the worst first, few on the page and all in the CSV, each with a link to its captions."""

from reporting.test_links import state_of
from support.reporting_run import PROVENANCE

from captionlab.evaluation.schemas import SLICES
from captionlab.reporting.tables.render import MISSING
from captionlab.reporting.tables.slices_table import WORST, slices_table


def slice_row(rank, by="scene", **changed):
    place = {"captioner": "me", "corpus": "toy", "split": "test", "evaluation": "main", "decoding": "beam5"}
    place |= {"retriever": "clip", "candidates": "100 file-order", "metric": "P@1", "by": by, "slice": f"a & b {rank}"}
    numbers = {"rank": rank, "value": 10.0 * rank, "ci_low": 1.0, "ci_high": 99.0, "n": 20, "rest": 80}
    tested = {"difference": -5.0, "difference_low": -9.0, "difference_high": -1.0, "p_value": 0.01, "p_holm": 0.0004}
    row = {**place, **numbers, **tested, "test": "Fisher", **changed}
    assert row.keys() == SLICES.columns.keys()
    return row


def test_the_page_has_the_worst_slices_and_the_csv_all():
    rows = [slice_row(rank) for rank in range(1, WORST + 4)]
    [block] = slices_table(rows, {}, PROVENANCE).blocks
    assert [line[0].text for line in block.rows] == [f"a & b {rank}" for rank in range(1, WORST + 1)]
    assert [cell.text for cell in block.rows[0][1:]] == ["20", "10.00", "-5.00", "0.010", "< 0.001"]
    assert "P@1" in block.heading
    assert "100 file-order" in block.heading
    assert len(slices_table(rows, {}, PROVENANCE).records) == WORST + 3


def test_each_captioner_and_metric_has_a_block():
    rows = [slice_row(1), slice_row(1, metric="R@5"), slice_row(1, captioner="you")]
    assert len(slices_table(rows, {}, PROVENANCE).blocks) == 3


def test_a_slice_leads_to_its_captions():
    kinds = {"scene": "scene", "object": "object", "length": "slice", "weather": "slice"}
    for by, filtered in kinds.items():
        [block] = slices_table([slice_row(1, by)], {}, PROVENANCE).blocks
        chosen = "a & b 1" if filtered == by else f"{by}: a & b 1"
        assert state_of(block.rows[0][0].link) == {
            "corpus": "toy", "a": "me", "evaluation": "main", "metric": "P@1", "retriever": "clip",
            "candidates": "100 file-order", filtered: chosen,
        }  # fmt: skip


def test_a_slice_without_a_test_has_no_difference():
    untested = dict.fromkeys(("difference", "difference_low", "difference_high", "p_value", "p_holm", "test"))
    [block] = slices_table([slice_row(1, **untested)], {}, PROVENANCE).blocks
    assert [cell.text for cell in block.rows[0][3:]] == [MISSING] * 3


def test_slices_that_are_left_out_are_counted():
    notes = slices_table([slice_row(1)], {"main, toy, by scene": 4}, PROVENANCE).footnotes
    assert any("main, toy, by scene: 4" in note for note in notes)
    assert not any("Not shown" in note for note in slices_table([slice_row(1)], {}, PROVENANCE).footnotes)
