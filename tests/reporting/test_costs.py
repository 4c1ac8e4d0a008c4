"""What a run cost, and what the next one may cost."""

import math
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.running import load_script

from captionlab.reporting.documents.costs import (
    COSTS,
    clock,
    cost_table,
    estimate,
    estimate_text,
    measured_jobs,
)
from captionlab.reporting.documents.plan import Plan, PlannedJob, folder_of
from captionlab.storage.schemas import COST
from captionlab.storage.tables import write_table

STAGES = {"train_encoder": "features", "embed_images": "features", "score_nlg": "evaluation"}
PROVENANCE = {"config": "toy", "seed": 1, "commit": "abc"}


@pytest.fixture
def results(tmp_path) -> Path:
    """What four jobs wrote of themselves; one used a GPU, one ran where nobody could tell its memory."""
    return written(tmp_path / "results")


def written(folder: Path, *others: tuple) -> Path:
    no_requests = (0, 0, 0, 0, 0.0)
    no_gpu = (0.0, 0.0, "CPU", *no_requests)
    jobs = [
        ("train_encoder", "a", 262.37, 244.1, 1401.88, 500.0, 4096.0, "NVIDIA H100", *no_requests),
        ("train_encoder", "b", 100.0, 90.0, 900.5, *no_gpu),
        ("score_nlg", "base/main", 10.5, None, None, *no_gpu),
        ("check_claims", "", 2.0, 1.5, 80.0, *no_gpu),
        *others,
    ]
    for job in jobs:
        path = folder / "cost" / Path(*job[:2]).with_suffix(".parquet")
        write_table(path, COST, {column: [value] for column, value in zip(COST.columns, job, strict=True)})
    return folder


def test_every_job_is_a_row(results):
    rows = {(row["rule"], row["job"]): row for row in measured_jobs(results)}
    assert {job for rule, job in rows if rule == "train_encoder"} == {"a", "b"}
    assert rows.keys() >= {("check_claims", ""), ("score_nlg", "base/main")}
    assert len(rows) == 4
    assert rows["train_encoder", "a"] == {
        "rule": "train_encoder", "job": "a", "seconds": 262.37, "cpu_seconds": 244.1, "memory_mb": 1401.88,
        "gpu_seconds": 500.0, "gpu_memory_mb": 4096.0, "device": "NVIDIA H100",
        "requests": 0, "cached_requests": 0, "input_tokens": 0, "output_tokens": 0, "price": 0.0,
    }  # fmt: skip
    assert rows["score_nlg", "base/main"]["memory_mb"] is None
    assert rows["train_encoder", "b"]["gpu_seconds"] == 0.0


def test_an_earlier_version_did_not_measure_memory(results):
    path = results / "cost" / "train_encoder" / "a.parquet"
    pq.write_table(pq.ParquetFile(path).read().drop_columns(["memory_mb", "price"]), path)
    (row,) = (row for row in measured_jobs(results) if row["job"] == "a")
    assert (row["memory_mb"], row["gpu_seconds"], row["price"]) == (None, 500.0, None)
    assert estimate([("train_encoder", "a")], [row])["seconds"].item() == 262.37


def test_rules_are_summed_in_their_stages(results):
    table = cost_table(measured_jobs(results), STAGES, PROVENANCE)
    assert [block.heading for block in table.blocks] == ["features", "evaluation", "other", "the run"]
    record = next(record for record in table.records if record["rule"] == "train_encoder")
    assert record["stage"] == "features"
    assert record["jobs"] == 2
    assert record["seconds"] == pytest.approx(362.37)
    assert record["memory_mb"] == 1401.88
    assert record["gpu_seconds"] == 500.0
    assert record["device"] == "CPU, NVIDIA H100"
    assert [cell.text for cell in table.blocks[-1].rows[0]] == [
        "all", "4", "0:06:15", "0:05:36", "0:08:20", "1402 MB", "4096 MB", "CPU, NVIDIA H100",
    ]  # fmt: skip
    assert sum(record["seconds"] for record in table.records) == pytest.approx(374.87)


ASKED = ("request_captions", "served/main", 20.0, 2.0, 90.0, 0.0, 0.0, "CPU", 1600, 600, 1_234_567, 8_000, 1.2505)


def test_requests_to_servers_have_columns_of_their_own(tmp_path):
    assert not any("price" in column.heading for column in cost_table([], STAGES, PROVENANCE).columns)
    table = cost_table(measured_jobs(written(tmp_path, ASKED)), STAGES, PROVENANCE)
    shown = {block.rows[-1][0].text: [cell.text for cell in block.rows[-1]][-5:] for block in table.blocks}
    assert shown["all"] == ["1,600", "600", "1,234,567", "8,000", "1.25"]
    assert [cell.text for cell in table.blocks[0].rows[0]][-5:] == ["–"] * 5  # noqa: RUF001
    assert sum(record["price"] for record in table.records) == 1.2505
    assert any("paid for responses from the cache" in note for note in table.footnotes)


def test_the_price_of_requests_is_estimated(tmp_path):
    earlier = measured_jobs(written(tmp_path, ASKED))
    text = estimate_text(estimate([("request_captions", "served/other"), ("train_encoder", "a")], earlier), 1, 1)
    assert "Requests to servers: 1.25 in sum, in the currency of the config." in text


@pytest.mark.parametrize("bucket", [False, True])
def test_the_script_writes_both_and_says_what_is_missing(results, monkeypatch, caplog, bucket):
    folder = results if bucket else Path("results")
    monkeypatch.chdir(results.parent)
    output = [str(folder / "reporting" / f"cost.{ending}") for ending in ("csv", "md", "html")]

    made = SimpleNamespace(tables=output, jobs=str(folder / "cost.parquet"))
    params = SimpleNamespace(stages=STAGES, provenance={"config": "toy", "seed": 1})
    script = load_script("collect_cost")
    script.main(SimpleNamespace(output=made, params=params))
    assert len(Path(output[0]).read_text().splitlines()) == 4
    assert "0:08:20" in Path(output[1]).read_text()
    assert ("the table has 4 jobs and lacks all others" in caplog.text) == bucket


def test_a_run_without_jobs_costs_nothing(tmp_path):
    assert measured_jobs(tmp_path) == []
    assert [cell.text for cell in cost_table([], STAGES, PROVENANCE).blocks[0].rows[0]][:3] == ["all", "0", "0:00:00"]


def test_pending_jobs_cost_what_they_or_their_like_did(results):
    earlier = measured_jobs(results)
    pending = [("train_encoder", "a"), ("train_encoder", "new"), ("score_nlg", "base/main"), ("never", "x")]
    found = dict(estimate(pending, earlier).iterrows())
    assert found["train_encoder"].jobs == 2
    assert found["train_encoder"].seconds == pytest.approx(262.37 + (262.37 + 100) / 2)
    assert found["train_encoder"].gpu_seconds == pytest.approx(500 + 250)
    assert found["train_encoder"].longest == 262.37
    assert found["score_nlg"].seconds == 10.5
    assert math.isnan(found["never"].seconds)


@pytest.mark.parametrize(
    ("jobs", "gpus", "least"),
    [(1, 1, "0:01:40"), (2, 1, "0:01:00"), (100, 1, "0:01:00"), (100, 4, "0:00:40")],
)
def test_the_least_time(jobs, gpus, least):
    columns = {"jobs": [3, 1, 2], "seconds": [60.0, 40.0, None], "gpu_seconds": [60.0, 0.0, None]}
    columns["price"] = [0.0, 0.0, None]
    estimates = pd.DataFrame({**columns, "longest": [20.0, 40.0, None]}, ["a", "b", "c"])
    text = estimate_text(estimates, jobs, gpus)
    assert f"not before {least}." in text
    assert "6 jobs, 0:01:40 in sum" in text
    assert "Never measured and not in the sum: c." in text


def test_what_was_never_measured_has_no_estimate():
    pending = [("a", "one"), ("a", "two"), ("b", "")]
    text = estimate_text(estimate(pending, []), 1, 1)
    assert "3 jobs, none of a rule that was ever measured, so nobody knows what they take." in text
    assert "--earlier FOLDER" in text
    assert "in sum" not in text
    assert "not before" not in text
    assert "0 jobs, 0:00:00 in sum" in estimate_text(estimate([], []), 1, 1)


def test_clock():
    assert [clock(seconds) for seconds in (0, 59.6, 3661, 360_000)] == ["0:00:00", "0:01:00", "1:01:01", "100:00:00"]


def test_the_script_prints_what_is_pending(monkeypatch, results, capsys):
    script = load_script("estimate_cost")
    asked, jobs = (
        [],
        [PlannedJob("", rule, name, ("new",)) for rule, name in (("train_encoder", "a"), ("check_claims", ""))],
    )
    plan = Plan(Path(), [*jobs, PlannedJob("", "train_encoder", "b", ())], False)
    monkeypatch.setitem(script.main.__globals__, "read_plan", lambda arguments: asked.append(arguments) or plan)
    script.main(["--earlier", str(results.parent), "--jobs", "2", "--", "--configfile", "mine.yaml"])
    said = capsys.readouterr().out
    assert asked == [["--configfile", "mine.yaml"]]
    assert "| train_encoder | 1 | 0:04:22 | 0:08:20 | 0:04:22 |" in said
    assert "| check_claims | 1 | 0:00:02 |" in said


@pytest.mark.parametrize("given", [["--directory", "run"], ["-d", "run"], ["--directory=run", "--", "a.txt"], []])
def test_costs_are_read_where_the_run_is(given, monkeypatch, results, capsys):
    folder = results.parent / "run" if given else results.parent
    folder.mkdir(exist_ok=True)
    results.rename(folder / "results")
    monkeypatch.chdir(results.parent)
    script = load_script("estimate_cost")
    jobs = [PlannedJob("", "train_encoder", "a", ("new",))]
    monkeypatch.setitem(script.main.__globals__, "read_plan", lambda arguments: Plan(folder_of(arguments), jobs, False))
    script.main(["--", *given])
    assert "| train_encoder | 1 | 0:04:22 | 0:08:20 | 0:04:22 |" in capsys.readouterr().out


def test_every_column_is_declared(results):
    assert set(measured_jobs(results)[0]) == set(COSTS.columns)
