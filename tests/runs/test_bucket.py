"""Results in a bucket: the small DAG on an S3 server, killed and resumed, against the same DAG on the disk."""

import re
import time
from pathlib import Path

import pytest
from support.bucket import SECRET, START_AGAIN, serving_bucket
from support.small import SMALL, kill, process_of, start

from captionlab.reporting.documents.costs import TIMED_TABLES
from captionlab.storage import paths

pytestmark = pytest.mark.slow

CONFIG = {**SMALL, "checkpoints": {"steps": 20}}
ARGUMENTS = ("--cores", "2", "--nolock")
IN_BUCKET = ("--default-storage-provider", "s3", "--default-storage-prefix", "s3://bucket/run")


def of_run(names) -> set[str]:
    """The names of results that do not depend on the time that jobs took, without the run's own copy of its config."""
    timed = {"logs", "state", "provenance", "cost", "cost.parquet", "config.yaml", "index.html"}
    return {
        name
        for name in names
        if name.split("/")[0] not in timed
        and Path(name).stem not in TIMED_TABLES
        and Path(name).name not in (paths.CARD, ".snakemake_timestamp")
        # Cards say how long a training took, and the footer of the index has the digest of one.
        and not name.startswith(("training/card.", "training/index."))
    }


def finished(folder, output, environment, *arguments) -> str:
    """What a run says that is waited for, and that may be started twice."""
    for _ in range(2):
        targets = (*ARGUMENTS, *arguments, "results/tables/")
        process = start(folder, CONFIG, *targets, output=output, environment=environment)
        try:
            code = process.wait(900)
        finally:
            kill(process)
        if START_AGAIN not in output.read_text():
            break
    assert code == 0, output.read_text()[-4000:]
    return output.read_text()


def killed_in(folder, output, environment, script, *arguments) -> None:
    """Start a run, and kill it while a script of it has checkpoints."""
    process = start(folder, CONFIG, *ARGUMENTS, *arguments, "results/tables/", output=output, environment=environment)
    deadline = time.monotonic() + 300
    try:
        while not (process_of(folder, script) and [*(folder / "results/state").rglob("*.pt")]):
            assert process.poll() is None, output.read_text()[-4000:]
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        kill(process)


@pytest.fixture(scope="module")
def runs(tmp_path_factory, small_run):
    """The bucket, the folder of the run whose results are in it, and the results of the run on the disk."""
    folder = tmp_path_factory.mktemp("bucket")
    with serving_bucket(folder / "server.log") as bucket:
        environment = bucket.environment
        (folder / "run").mkdir()
        killed_in(folder / "run", folder / "run.out", environment, "pretrain_captioner.py", *IN_BUCKET)
        assert "captioners/base/model.safetensors" not in bucket.sizes("run/results/")
        finished(folder / "run", folder / "run.out", environment, *IN_BUCKET)
        yield bucket, folder / "run", small_run.folder / "results"


def test_a_killed_run_goes_on_and_its_results_equal_those_on_the_disk(runs):
    bucket, _, disk = runs
    assert b"Going on from the checkpoint" in bucket.read("run/results/logs/pretrain_captioner/base.log")
    expected = {str(path.relative_to(disk)): path for path in disk.rglob("*") if path.is_file()}
    names = of_run(bucket.sizes("run/results/"))
    assert names == of_run(expected)
    assert {"tables/evaluation.csv", "tables/index.html", "captioners/base/model.safetensors"} <= names
    differing = [name for name in sorted(names) if bucket.read(f"run/results/{name}") != expected[name].read_bytes()]
    assert differing == []
    local = [
        name for name in bucket.sizes("run/") if "/logs/" not in name and b".snakemake" in bucket.read(f"run/{name}")
    ]
    assert local == []


def test_what_is_in_the_bucket_is_not_made_again(runs):
    bucket, folder, _ = runs
    output = folder.with_name("again.out")
    assert "Nothing to be done" in finished(folder, output, bucket.environment, *IN_BUCKET)
    # Another machine has nothing but the bucket.
    elsewhere = folder.with_name("elsewhere")
    elsewhere.mkdir()
    assert "Nothing to be done" in finished(elsewhere, output, bucket.environment, *IN_BUCKET)


def test_the_status_of_a_run_knows_what_is_in_the_bucket(runs):
    bucket, folder, _ = runs

    def status(*arguments) -> str:
        process = start(
            folder,
            CONFIG,
            *(*IN_BUCKET, "results/tables/", *arguments),
            output=folder.with_name("status.out"),
            environment=bucket.environment,
            program=("-m", "captionlab", "status"),
        )
        assert process.wait(120) == 0
        return folder.with_name("status.out").read_text()

    text = status()
    assert "Nothing would run." in text
    (row,) = [line for line in text.splitlines() if line.startswith("| all ")]
    assert re.search(r"\d", row.split("|")[-2])  # the time that the jobs took
    text = status("--forcerun", "pretrain_captioner")
    (row,) = [line for line in text.splitlines() if line.startswith("| pretrain_captioner")]
    assert [cell.strip() for cell in row.split("|")][3] == "base"
    assert "not made yet" not in text


def test_no_file_has_the_secret(runs):
    bucket, folder, _ = runs
    contents = [bucket.read(key) for key in bucket.sizes()]
    contents += [path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()]
    assert len(contents) > 100
    assert not [content for content in contents if SECRET.encode() in content]


def test_a_wrong_address_stops_a_run_before_any_job(runs):
    bucket, folder, _ = runs
    nowhere = {**bucket.environment, "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": "http://127.0.0.1:9"}
    output = folder.with_name("nowhere.out")
    other = folder.with_name("nowhere")
    other.mkdir()
    arguments = (*ARGUMENTS, *IN_BUCKET, "--storage-s3-retries", "1", "results/tables/")
    process = start(other, CONFIG, *arguments, output=output, environment=nowhere)
    assert process.wait(300) != 0
    assert not (other / "results").exists()
