"""Intervals of means and shares."""

import numpy as np
import pytest
from support.tiny_run import CAPTIONER, EVALUATION

from captionlab.library.intervals import intervals
from captionlab.library.runs import open_run


def test_intervals_are_those_of_the_workflow(tiny_run):
    run = open_run(tiny_run)
    ranks = run.scores(CAPTIONER, EVALUATION, "retrieval").query("protocol == 'full'")
    summary = run.evaluation().query("captioner == @CAPTIONER and candidates == 'full'").set_index("metric")
    share = intervals((ranks["rank"] == 1).to_numpy(), ranks["image_id"])
    mean = intervals(ranks["rank"], ranks["image_id"])
    columns = ["value", "ci_low", "ci_high", "n"]
    assert [100 * end for end in share[:3]] + [share.n] == pytest.approx(summary.loc["P@1", columns].tolist())
    assert list(mean) == pytest.approx(summary.loc["mean rank", columns].tolist())


def test_the_interval_of_a_mean_is_near_the_normal_one():
    values = np.random.default_rng(1).normal(5, 2, 4000)
    found = intervals(values)
    assert found.value == pytest.approx(values.mean())
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * values.std() / 4000**0.5, rel=0.05)


def test_a_share_without_exception_has_a_width():
    found = intervals([True] * 20)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.025 ** (1 / 20))


def test_values_of_an_image_count_together():
    values = np.repeat(np.random.default_rng(2).normal(size=50), 10)
    alone = intervals(values)
    together = intervals(values, images=np.repeat(np.arange(50), 10))
    assert (alone.n, together.n) == (500, 50)
    assert together.high - together.low > 2 * (alone.high - alone.low)


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], 3.0, [1.0, None], [1.0, float("nan")], ["a", "b"]])
def test_what_is_no_list_of_numbers_is_refused(values):
    with pytest.raises(ValueError, match="values"):
        intervals(values)


def test_each_value_has_its_image():
    with pytest.raises(ValueError, match="2 values and 1 images"):
        intervals([1.0, 2.0], images=["a"])
