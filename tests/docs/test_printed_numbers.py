"""Numbers of the toy world that pages print lie in the intervals of this checkout's run, where that is of a commit."""

import csv
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.last

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "results" / "tables" / "evaluation.csv"
OF_COCO = {"corpus": "toy-coco", "evaluation": "main", "metric": "P@1", "candidates": "100 file-order"}
# A page, what stands before and after the number, and the row of the table `evaluation` that has it.
PRINTED = [
    ("docs/tutorial.md", r"finds ([\d.]+) % of them", {"captioner": "toy-discritune-coco", "retriever": "toy-clip-a"}),
    (
        "docs/tutorial.md",
        r"captions, ([\d.]+) % by those",
        {"captioner": "toy-clipcap-coco", "retriever": "toy-clip-a"},
    ),
]


@pytest.fixture
def closed_checkout() -> None:
    """Let a test read the results of this checkout, which it is about."""


@pytest.mark.parametrize(("page", "pattern", "place"), PRINTED)
def test_a_printed_number_lies_in_its_interval(page, pattern, place):
    (printed,) = re.findall(pattern, " ".join((ROOT / page).read_text(encoding="utf-8").split()))
    if not TABLE.exists():
        pytest.skip("no tables of the toy world in results/")
    with open(TABLE, encoding="utf-8", newline="") as file:
        rows = [
            row for row in csv.DictReader(file) if all(row[key] == value for key, value in (OF_COCO | place).items())
        ]
    if [(row["config"], row["seed"], row["commit"].endswith("+")) for row in rows] != [("toy", "1", False)]:
        pytest.skip("results/ has tables of another config or seed, or of changed files")
    low, high = float(rows[0]["ci_low"]), float(rows[0]["ci_high"])
    assert low <= float(printed) <= high, (
        f"{page} prints {printed}, and this run has {rows[0]['value']} [{low}, {high}]"
    )
