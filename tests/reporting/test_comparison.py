"""Two runs side by side."""

# ruff: noqa: RUF001 (an en dash stands where a number is missing)

import csv
import hashlib
from pathlib import Path

import pandas as pd
import pytest
from support.running import load_script

from captionlab.jobs.provenance import Job, working_on
from captionlab.reporting.documents.comparison import (
    ComparisonError,
    compare,
    moved_cells,
    parameter_differences,
    read_run,
)

SCRIPT = load_script("compare_runs")


def row(metric="CIDEr", value="50.0", low="48.0", high="52.0", **more):
    return {
        "captioner": "base", "retriever": "", "metric": metric, "value": value, "ci_low": low, "ci_high": high,
        "n": "100", "published": "108.35", "verdict": "differs", "config": "toy", "seed": "1", "commit": "abc", **more,
    }  # fmt: skip


def write(folder: Path, tables: dict[str, list[dict]], lr: float = 1e-3, **params) -> Path:
    (folder / "results" / "tables").mkdir(parents=True)
    for name, rows in tables.items():
        with open(folder / "results" / "tables" / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    config = {"optimizer": {"lr": lr, "batch": 8}}
    leave(folder, "finetune_captioner", [], {"captioner": "tuned"}, config=config, **{"code": "1", **params})
    return folder


def test_equal_runs(tmp_path):
    runs = [read_run(write(tmp_path / name, {"evaluation": [row()]})) for name in "ab"]
    text = compare(*runs)
    assert "Nothing differs." in text
    assert "0 of 1 cells moved; 0 more changed" in text


def test_only_parameters_that_differ_are_named(tmp_path):
    before = read_run(write(tmp_path / "a", {"evaluation": [row()]}, seed=7))
    after = read_run(write(tmp_path / "b", {"evaluation": [row()]}, lr=2e-3, seed=7, code="2"))
    job = "finetune_captioner captioner tuned"
    assert parameter_differences(before, after) == [(job, "config.optimizer.lr", "0.001", "0.002")]
    text = compare(before, after)
    assert r"| finetune\_captioner captioner tuned | config.optimizer.lr | 0.001 | 0.002 |" in text
    assert r"code that differs: finetune\_captioner" in text


def test_a_parameter_or_a_job_that_one_run_has(tmp_path):
    before = read_run(write(tmp_path / "a", {"evaluation": [row()]}))
    after = read_run(write(tmp_path / "b", {"evaluation": [row()]}, seed=7))
    assert [found[1:] for found in parameter_differences(before, after)] == [("seed", "–", "7")]
    (tmp_path / "b" / "results" / "provenance" / "finetune_captioner.json").unlink()
    after = read_run(tmp_path / "b")
    assert [found[1:] for found in parameter_differences(before, after)] == [("the job", "there", "–")]


def leave(folder: Path, rule: str, inputs: list[Path], wildcards: dict | None = None, **params) -> None:
    """What a job leaves."""
    log = str(folder / "results" / "logs" / f"{rule}.log")
    with working_on(Job(rule, log, wildcards or {}, params, list(map(str, inputs)))):
        pass


def test_jobs_differ_by_what_they_read_from_outside(tmp_path, monkeypatch):
    """Imported weights, and the language model's splits."""
    monkeypatch.chdir(tmp_path)
    runs = []
    for name, weights, splits in (("a", "some", ["train"]), ("b", "others", ["train", "restval"])):
        folder = write(tmp_path / name, {"evaluation": [row()]})
        (tmp_path / "clip.pt").write_text(weights)
        leave(folder, "import_encoder", ["clip.pt"], config={"family": "clip"})
        leave(folder, "train_language_model", [], splits=splits, provenance={"config": name})
        runs.append(read_run(folder))
    assert parameter_differences(*runs) == [
        (
            "import_encoder",
            "input.clip.pt",
            *(hashlib.blake2b(w, digest_size=16).hexdigest() for w in (b"some", b"others")),
        ),
        ("train_language_model", "splits", "['train']", "['train', 'restval']"),
    ]
    assert "Nothing differs" not in compare(*runs)


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
    before = read_run(write(tmp_path / "a", {"evaluation": [row(), row("SPICE")]}))
    after = read_run(write(tmp_path / "b", {"evaluation": [row(value="60.0", low="58.0", high="62.0", n="90")]}))
    text = compare(before, after)
    assert "1 of 1 cells moved; 0 more changed within their intervals.\n" in text
    line = next(line for line in text.splitlines() if "CIDEr" in line)
    assert line == "| base, CIDEr | 50.00 [48.00, 52.00] n = 100 | 60.00 [58.00, 62.00] n = 90 | +10.00 |"


def test_a_value_that_one_run_has_did_not_move(tmp_path):
    """Whether its row is missing in the other run, or is there without a value."""
    none = {"value": "", "low": "", "high": "", "n": ""}
    first = [row(), row("SPICE"), row("METEOR", **none), row("P@1", **none)]
    second = [
        row(),
        row("SPICE", **none),
        row("METEOR"),
        row("P@1", **none),
        row("R@5"),
        *(row(str(i)) for i in range(9)),
    ]
    text = compare(*(read_run(write(tmp_path / name, {"e": rows})) for name, rows in (("a", first), ("b", second))))
    assert "0 of 1 cells moved; 0 more changed within their intervals." in text
    assert "Only one run has a value: 1 cells before, 11 after." in text
    value = "50.00 [48.00, 52.00] n = 100"
    assert text.splitlines()[-6:-3] == [
        f"| base, SPICE | {value} | – |",
        f"| base, METEOR | – | {value} |",
        f"| base, R@5 | – | {value} |",
    ]


def test_values_without_intervals(tmp_path):
    """Counts, and conditions whose interval nobody knows: whether they moved cannot be said, only that they changed."""
    none = {"low": "", "high": ""}
    first = [row(), row("images", "7", **none), row("variety", "0.50", **none), row("P@1"), row("gone", "3", **none)]
    second = [row(), row("images", "7", **none), row("variety", "0.75", **none), row("P@1", "50.5", **none)]
    text = compare(*(read_run(write(tmp_path / name, {"e": rows})) for name, rows in (("a", first), ("b", second))))
    assert "0 of 4 cells moved; 0 more changed within their intervals.\n\n2 without an interval changed:" in text
    assert "| base, variety | 0.50 n = 100 | 0.75 n = 100 | +0.25 |" in text
    assert "| base, P@1 | 50.00 [48.00, 52.00] n = 100 | 50.50 n = 100 | +0.50 |" in text
    assert "| base, images |" not in text
    assert "| base, gone | 3.00 n = 100 | – |" in text


def test_verdicts_and_other_tables(tmp_path):
    claim = {"paper": "p", "claim": "c|1", "scope": "s", "verdict": "holds", "evidence": "+1"}
    word = {"captioner": "base", "rank": "1", "ngram": "a", "commit": "abc"}
    first = {"claims": [claim], "unigrams": [word, {**word, "ngram": "the"}], "gone": [word]}
    second = {"claims": [{**claim, "verdict": "mixed"}], "unigrams": [{**word, "commit": "x"}, {**word, "ngram": "an"}]}
    text = compare(read_run(write(tmp_path / "a", first)), read_run(write(tmp_path / "b", second)))
    assert "1 of 1 verdicts changed." in text
    assert r"| p, c\|1, s | holds | mixed |" in text
    assert "No intervals: 1 of 2 rows are gone, 1 of 2 are new." in text
    assert "| before | captioner base, rank 1, ngram the |" in text
    assert f"Only {tmp_path}/a has it." in text.replace("\\", "")


def test_the_script(tmp_path, capsys):
    folders = [str(tmp_path / name) for name in "ab"]
    for folder, seconds in zip(folders, ("12.345678", "9000.0"), strict=True):
        cost = {"rule": "train", "jobs": "12", "seconds": seconds, "device": "", "commit": "abc"}
        write(Path(folder), {"evaluation": [row()], "cost": [cost]})
    SCRIPT.main(folders)
    said = capsys.readouterr().out
    assert said.startswith("# ")
    assert "### cost" not in said
    SCRIPT.main(["--costs", *folders])
    said = capsys.readouterr().out.split("### cost")[1]
    assert "| before | rule train, jobs 12, seconds 12.346 |" in said
    assert "| after | rule train, jobs 12, seconds 9000 |" in said
    with pytest.raises(SystemExit) as left:
        SCRIPT.main([folders[0], str(tmp_path / "nothing")])
    assert left.value.code == 1
    assert "nothing is no finished run: there are no tables" in capsys.readouterr().err


def test_a_folder_without_tables_is_named(tmp_path):
    with pytest.raises(ComparisonError, match="is no finished run"):
        read_run(tmp_path)
