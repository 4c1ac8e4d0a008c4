"""Cells that moved between two runs, and parameters of jobs that differ."""

import csv
import hashlib
from pathlib import Path

import pandas as pd
import pytest

from captionlab.jobs.provenance import Job, working_on
from captionlab.reporting.tables.render import MISSING
from captionlab.side_by_side.moved import changes_of, moved_cells, moved_table
from captionlab.side_by_side.runs import FinishedRun
from captionlab.side_by_side.tables import parameter_differences


def row(metric="CIDEr", value="50.0", low="48.0", high="52.0", **more):
    return {
        "captioner": "base", "retriever": "", "metric": metric, "value": value, "ci_low": low, "ci_high": high,
        "n": "100", "published": "108.35", "verdict": "differs", "config": "toy", "seed": "1", "commit": "abc", **more,
    }  # fmt: skip


def run_of(folder: Path, tables: dict[str, list[dict]], lr: float = 1e-3, **params) -> FinishedRun:
    """A run with these tables and a job of a training."""
    (folder / "results" / "tables").mkdir(parents=True)
    for name, rows in tables.items():
        with open(folder / "results" / "tables" / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    config = {"optimizer": {"lr": lr, "batch": 8}}
    leave(folder, "finetune_captioner", [], {"captioner": "tuned"}, config=config, **{"code": "1", **params})
    return FinishedRun(folder.name, folder)


def leave(folder: Path, rule: str, inputs: list[Path], wildcards: dict | None = None, **params) -> None:
    """What a job leaves."""
    log = str(folder / "results" / "logs" / f"{rule}.log")
    with working_on(Job(rule, log, wildcards or {}, params, list(map(str, inputs)))):
        pass


def changes(tmp_path: Path, first: list[dict], second: list[dict]) -> tuple[str, list[tuple[str, ...]]]:
    """The changes of a table between two runs."""
    return changes_of("e", *(run_of(tmp_path / name, {"e": rows}) for name, rows in (("a", first), ("b", second))))


def test_equal_runs(tmp_path):
    runs = [run_of(tmp_path / name, {"rewards": [row()]}) for name in "ab"]
    assert parameter_differences(runs) == []
    assert changes_of("rewards", *runs) == ("0 of 1 cells moved, 0 more changed within their intervals", [])
    table = moved_table(runs)
    assert table.blocks == []
    assert "rewards, b: 0 of 1 cells moved, 0 more changed within their intervals." in table.footnotes


def test_only_parameters_that_differ_are_named(tmp_path):
    before = run_of(tmp_path / "a", {"e": [row()]}, seed=7)
    after = run_of(tmp_path / "b", {"e": [row()]}, lr=2e-3, seed=7, code="2")
    job = "finetune_captioner captioner tuned"
    assert parameter_differences([before, after]) == [("config.optimizer.lr", job, ("0.001", "0.002"))]


def test_a_parameter_or_a_job_that_one_run_has(tmp_path):
    before = run_of(tmp_path / "a", {"e": [row()]})
    after = run_of(tmp_path / "b", {"e": [row()]}, seed=7)
    job = "finetune_captioner captioner tuned"
    assert parameter_differences([before, after]) == [("seed", job, (MISSING, "7"))]
    (tmp_path / "b" / "results" / "provenance" / "finetune_captioner.json").unlink()
    after = FinishedRun("b", tmp_path / "b")
    assert parameter_differences([before, after]) == [("the job", job, ("there", MISSING))]


def test_jobs_differ_by_what_they_read_from_outside(tmp_path, monkeypatch):
    """Imported weights, and the language model's splits."""
    monkeypatch.chdir(tmp_path)
    runs = []
    for name, weights, splits in (("a", "some", ["train"]), ("b", "others", ["train", "restval"])):
        run = run_of(tmp_path / name, {"e": [row()]})
        (tmp_path / "clip.pt").write_text(weights)
        leave(run.folder, "import_encoder", ["clip.pt"], config={"family": "clip"})
        leave(run.folder, "train_language_model", [], splits=splits, provenance={"config": name})
        runs.append(run)
    digests = (hashlib.blake2b(w, digest_size=16).hexdigest() for w in (b"some", b"others"))
    assert parameter_differences(runs) == [
        ("input.clip.pt", "import_encoder", (*digests,)),
        ("splits", "train_language_model", ("['train']", "['train', 'restval']")),
    ]


@pytest.mark.parametrize(
    ("value", "low", "high", "moved", "changed"),
    [
        ("50.0", "48.0", "52.0", 0, 0),
        ("51.9", "49.9", "53.9", 0, 1),
        ("50.0004", "50.0003", "50.0005", 0, 0),
        # Each value is outside of the other's interval, but the intervals overlap.
        ("53.0", "51.0", "55.0", 0, 1),
        ("54.0", "52.0", "56.0", 0, 1),
        ("54.1", "52.1", "56.1", 1, 0),
        ("40.0", "39.0", "41.0", 1, 0),
        ("", "", "", 0, 0),
    ],
)
def test_a_cell_moves_when_intervals_have_nothing_in_common(value, low, high, moved, changed):
    before, after = [row(), row("SPICE")], [row(value=value, low=low, high=high), row("SPICE")]
    found = moved_cells(pd.DataFrame(before), pd.DataFrame(after))
    assert [len(cells) for cells in found] == [moved, changed]


def test_a_moved_cell_is_shown_with_its_intervals(tmp_path):
    second = [row(value="60.0", low="58.0", high="62.0", n="90")]
    text, [change, gone] = changes(tmp_path, [row(), row("SPICE")], second)
    assert text == "1 of 1 cells moved, 0 more changed within their intervals, 1 are gone, 0 are new"
    assert change == (
        "moved by +10.00", "base, CIDEr", "50.00 [48.00, 52.00] n = 100", "60.00 [58.00, 62.00] n = 90",
    )  # fmt: skip
    assert gone == ("gone", "base, SPICE", "50.00 [48.00, 52.00] n = 100", MISSING)


def test_a_value_that_one_run_has_did_not_move(tmp_path):
    """Whether its row is missing in the other run, or is there without a value."""
    none = {"value": "", "low": "", "high": "", "n": ""}
    first = [row(), row("SPICE"), row("METEOR", **none), row("P@1", **none)]
    second = [row(), row("SPICE", **none), row("METEOR"), row("P@1", **none), row("R@5")]
    text, found = changes(tmp_path, first, [*second, *(row(str(i)) for i in range(9))])
    assert text == "0 of 1 cells moved, 0 more changed within their intervals, 1 are gone, 11 are new"
    value = "50.00 [48.00, 52.00] n = 100"
    assert found[:3] == [
        ("gone", "base, SPICE", value, MISSING),
        ("new", "base, METEOR", MISSING, value),
        ("new", "base, R@5", MISSING, value),
    ]
    assert len(found) == 6


def test_values_without_intervals(tmp_path):
    """Counts, and conditions whose interval nobody knows: whether they moved cannot be said, only that they changed."""
    none = {"low": "", "high": ""}
    first = [row(), row("images", "7", **none), row("variety", "0.50", **none), row("P@1")]
    second = [row(), row("images", "7", **none), row("variety", "0.75", **none), row("P@1", "50.5", **none)]
    text, found = changes(tmp_path, first, second)
    assert text.endswith("0 more changed within their intervals, 2 without an interval changed")
    assert (
        found
        == [
            ("changed, no interval by +0.50", "base, P@1", "50.00 [48.00, 52.00] n = 100", "50.50 n = 100"),
            ("changed, no interval by +0.25", "base, variety", "0.50 n = 100", "0.75 n = 100"),
        ][::-1]
    )


def test_verdicts_and_other_tables(tmp_path):
    claim = {"paper": "p", "claim": "c|1", "scope": "s", "verdict": "holds", "evidence": "+1"}
    word = {"captioner": "base", "rank": "1", "ngram": "a", "commit": "abc"}
    first = {"claims": [claim], "unigrams": [word, {**word, "ngram": "the"}], "gone": [word], "cost": [word]}
    second = {"claims": [{**claim, "verdict": "mixed"}], "unigrams": [{**word, "commit": "x"}, {**word, "ngram": "an"}]}
    runs = run_of(tmp_path / "a", first), run_of(tmp_path / "b", second)
    assert changes_of("claims", *runs) == ("1 of 1 verdicts changed", [("verdict", "p, c|1, s", "holds", "mixed")])
    text, [gone, new] = changes_of("unigrams", *runs)
    assert text == "no intervals; 1 of 2 rows are gone, 1 of 2 are new"
    assert gone == ("gone", "captioner base, rank 1, ngram the", "there", MISSING)
    assert new == ("new", "captioner base, rank 1, ngram an", MISSING, "there")
    table = moved_table(runs)
    assert "gone, b: only a has this table." in table.footnotes
    assert not any("cost" in note for note in table.footnotes), "running times always differ"
