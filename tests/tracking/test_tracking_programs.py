"""Trainings in Weights & Biases and in MLflow, read again from their files; and programs that nobody can reach."""

import json

import mlflow
import pytest
import wandb
from mlflow import MlflowClient
from support.tracked_training import FOLDER, images_table, logged, run
from support.wandb_files import history, run_of

from captionlab.tracking import tracker

SECRET = "d0f1e2d3c4b5a697887766554433221100ffeedd"


@pytest.fixture
def images(tmp_path, monkeypatch):
    """In the working directory a table of two images, of which the second is gone."""
    monkeypatch.chdir(tmp_path)
    return images_table(tmp_path)


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """W&B without a network, with a key and folders of its own."""
    for name in ("CACHE_DIR", "CONFIG_DIR", "DATA_DIR"):
        monkeypatch.setenv(f"WANDB_{name}", str(tmp_path / "home"))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_API_KEY", SECRET)


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder in the place of MLflow's server."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    return MlflowClient(tracking_uri=(tmp_path / "mlruns").as_uri())


def folders(tmp_path, *names):
    for name in names:
        (tmp_path / name).mkdir()
    return [tmp_path / name for name in names]


def test_wandb_has_the_log_and_captions_of_a_training_that_was_killed(images, tmp_path, offline):
    plain, killed = folders(tmp_path, "plain", "killed")
    expected = run(plain)
    with pytest.raises(StopIteration):
        run(killed, images, fails_at=8, program="wandb")
    assert run(killed, images, program="wandb") == expected
    wandb.teardown()  # waits until the program that writes the file has ended
    (file,) = (tmp_path / FOLDER).glob("wandb/offline-run-*-f00d/run-f00d.wandb")
    rows = history(file)
    curves = {}
    for row in rows:
        for name, value in row.items():
            if name.startswith(("training/", "optimizer/", "validation/")):
                curves.setdefault(name, []).append((row["_step"], pytest.approx(value)))
    assert curves == logged(plain)
    shown = {row["_step"]: row["captions/a/1"] for row in rows if "captions/a/1" in row}
    assert [*shown] == [0, 4, 8, 12]
    assert all((file.parent / "files" / image["path"]).stat().st_size for image in shown.values())
    (table,) = [row["captions/table"] for row in rows if row["_step"] == 12]
    assert json.loads((file.parent / "files" / table["path"]).read_text())["columns"][:2] == ["image", "caption"]
    told = run_of(file)
    assert (told.run_id, told.display_name, told.job_type, told.project) == (
        "f00d",
        "x",
        "finetune_captioner",
        "captionlab",
    )
    config = {item.key: json.loads(item.value_json) for item in told.config.update}
    assert config["optimizer"] == {"kind": "adam", "lr": 0.05}
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_mlflow_has_the_log_and_captions_of_a_training_that_was_killed(images, tmp_path, server):
    plain, killed = folders(tmp_path, "plain", "killed")
    expected = run(plain)
    with pytest.raises(StopIteration):
        run(killed, images, fails_at=8, program="mlflow")
    experiment = server.get_experiment_by_name("captionlab").experiment_id
    assert [found.info.status for found in server.search_runs([experiment])] == ["KILLED"]
    assert run(killed, images, program="mlflow") == expected
    (found,) = server.search_runs([experiment])
    assert (found.info.run_name, found.info.status) == ("x", "FINISHED")
    assert found.data.params == {"optimizer.kind": "adam", "optimizer.lr": "0.05", "objective.kind": "cross-entropy"}
    curves = {
        name: [(point.step, pytest.approx(point.value)) for point in server.get_metric_history(found.info.run_id, name)]
        for name in found.data.metrics
    }
    assert curves == logged(plain)
    tables = [file.path for file in server.list_artifacts(found.info.run_id, "captions")]
    assert tables == [f"captions/{step:09d}.md" for step in (0, 4, 8, 12)]
    pictures = [file.path for file in server.list_artifacts(found.info.run_id, "images")]
    assert len([path for path in pictures if "captions~b_2+step+12+" in path]) == 2  # the picture, and a small one


@pytest.mark.parametrize("program", ["wandb", "mlflow"])
def test_a_program_that_nobody_can_reach_is_one_warning(program, images, tmp_path, monkeypatch, caplog):
    wandb.teardown()  # forgets the settings of earlier runs of this process
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "home"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://somebody:{SECRET}@127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    plain, watched = folders(tmp_path, "plain", "watched")
    assert run(watched, images, program=program) == run(plain)
    (warning,) = [record.getMessage() for record in caplog.records if record.name == tracker.__name__]
    assert warning.startswith(f"The training goes on without {tracker.PROGRAMS[program]}: ")
    assert SECRET not in warning
    if program == "wandb":
        assert "wandb login" in warning


def test_without_a_server_and_a_database_mlflow_is_one_warning(images, tmp_path, monkeypatch, caplog):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow.set_tracking_uri(None)
    monkeypatch.setattr("captionlab.tracking.mlflow.find_spec", lambda name: None)
    (plain,) = folders(tmp_path, "plain")
    run(plain, images, program="mlflow")
    (warning,) = [record.getMessage() for record in caplog.records if record.name == tracker.__name__]
    assert "MLFLOW_TRACKING_URI" in warning
