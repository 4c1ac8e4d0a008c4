"""What trainings by a reward did to it, against loops over images, and the table of it."""

import csv

import numpy as np
import pytest

from captionlab.reporting.tables.formats.csv import csv_text
from captionlab.reporting.tables.formats.markdown import markdown
from captionlab.reporting.tables.rewards import change_of, rewards_table

BEFORE = [("A dog.", 0.1, 0.0), ("a dog", 0.3, 1.0), ("a cat", 0.5, 0.0), ("a red car", 0.2, 0.0)]
AFTER = [("a dog here", 0.4, 1.0), ("a dog here", 0.5, 1.0), ("a dog here", 0.5, 0.0), ("a lamp", 0.1, 0.0)]
ONE = [("a dog here", value, 1.0) for value in (0.4, 0.5, 0.0, 0.3)]


def rows(accuracy=True):
    found = [
        {
            "captions": name,
            "image_id": f"i{n}",
            "caption": caption,
            "reward": reward,
            "accuracy": hit if accuracy else None,
        }
        for name, of_name in (("before", BEFORE), ("after", AFTER), ("commonest", ONE))
        for n, (caption, reward, hit) in enumerate(of_name)
    ]
    return found[::-1]  # The order of a table means nothing.


def test_a_change_by_hand():
    change = change_of(rows(), seed=1)
    assert (change.before, change.after, change.value) == pytest.approx((1.1 / 4, 1.5 / 4, 0.1))
    assert change.commonest == pytest.approx(1.2 / 4)
    assert change.prefers_fewer
    assert (change.found_before, change.found_after, change.n) == (25.0, 50.0, 4)
    assert (change.different_before, change.different_after) == (3, 2)
    assert (change.words_before, change.words_after) == (9 / 4, 11 / 4)
    assert change_of(rows(accuracy=False), seed=1).found_before is None


def test_the_interval_is_of_paired_differences():
    random = np.random.default_rng(2)
    before = random.normal(0.5, 0.2, 200)
    after = before + random.normal(0.02, 0.05, 200)
    table = [
        {"captions": name, "image_id": f"i{n}", "caption": "a", "reward": float(value), "accuracy": None}
        for name, values in (("before", before), ("after", after), ("commonest", before))
        for n, value in enumerate(values)
    ]
    change, means = change_of(table, seed=1), []
    for _ in range(2000):
        drawn = random.integers(0, 200, 200)
        means.append(sum(after[image] - before[image] for image in drawn) / 200)
    assert change.ends == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=0.002)


def test_captions_that_did_not_change_have_an_interval_without_width():
    same = [row for row in rows() if row["captions"] == "before"]
    change = change_of([{**row, "captions": name} for name in ("before", "after", "commonest") for row in same], seed=1)
    assert change.value == 0
    assert change.ends == (0, 0)


def test_the_table_has_a_row_for_each_captioner():
    trainings = {name: {"parent": "base", "corpus": "coco", "reward": "scorer uniter"} for name in ("tuned", "other")}
    changes = {"tuned": change_of(rows(), seed=1), "other": change_of(rows(accuracy=False), seed=1)}
    table = rewards_table(changes, trainings, {"config": "made-up", "seed": 7, "commit": "abc"})
    assert "| tuned from base, coco | scorer uniter | 4 | 0.275 | 0.375 | +0.100 [" in markdown(table)
    first, second = csv.DictReader(csv_text(table).splitlines())
    assert (first["captioner"], first["found_after"], second["captioner"], second["found_after"]) == (
        "other", "", "tuned", "50.0"
    )  # fmt: skip
    assert float(second["ci_low"]) < float(second["value"]) < float(second["ci_high"])
