"""What people see of a training: the readers of TensorBoard and Trackio against the log, and what may go wrong."""

import io
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugin_util import markdown_to_safe_html
from tensorboard.plugins.text.summary import text_pb
from tensorboard.summary.writer.record_writer import RecordWriter
from training_stand_in import END, TinyCaptioner, data, decode

from captionlab.schemas import IMAGES, TRAINING, TRAINING_CAPTIONS
from captionlab.tables import read_table, write_table
from captionlab.tracking import pictures, tensorboard, tracker
from captionlab.tracking.packages import missing
from captionlab.tracking.tracker import Example, Run, Tracker, Update, tag, tracker_of
from captionlab.training.loop.batches import CaptionBatches
from captionlab.training.loop.examples import Examples
from captionlab.training.loop.trainer import Validation, train
from captionlab.training.objectives.cross_entropy import CrossEntropy

STEPS, EVERY, IDS = 12, 4, ("a/1", "b|2")


@pytest.fixture
def images(tmp_path, monkeypatch):
    """In the working directory a table of two images, of which the second is gone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tracker, "PATIENCE", 300.0)  # whatever else the machine does
    Image.new("RGB", (20, 10), "red").save("red.png")
    columns = {name: [None, None] for name in IMAGES.columns}
    columns |= {"image_id": [*IDS], "position": [0, 1], "split": ["train"] * 2, "path": ["red.png", "gone.png"]}
    write_table("images.parquet", IMAGES, {**columns, "width": [20] * 2, "height": [10] * 2})
    return tmp_path / "images.parquet"


def caption(model):
    """The likeliest tokens of two images, and a reward of one of them."""
    visual = data()[0][:2]
    tokens = model.logits(visual, torch.zeros(2, 5, dtype=torch.long)).argmax(-1)
    return decode(tokens), [float(tokens[0].sum()), None]


def run(folder, kind="none", images=None, fails_at=None):
    """Train to the end, or fail after so many updates; the bytes of what comes out, with the captions beside them."""
    model, examples, visual, captions = TinyCaptioner(), Examples(IDS, [["one", "two"], ["three"]], caption), *data()
    batches, objective = CaptionBatches(visual, captions, size=6, seed=3, padding=END), CrossEntropy()
    told = Tracker(kind, Run("finetune_captioner", "x", "test", images)) if images else Tracker()
    if fails_at is not None:
        real, calls = objective.loss, iter(range(fails_at))
        objective.loss = lambda *given: (next(calls), real(*given))[1]
    train(
        model,
        objective,
        batches,
        {"kind": "adam", "lr": 0.05, "steps": STEPS},
        seed=5,
        log_path=folder / "training.parquet",
        state_directory=folder / "state",
        fingerprint="f",
        device="cpu",
        checkpoint_steps=5,
        validation=Validation(lambda model: 0.5, EVERY, "cider", False, examples),
        tracker=told,
    )
    examples.write(folder / "training_captions.parquet")
    weights = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    return weights, *((folder / f"{name}.parquet").read_bytes() for name in ("training", "training_captions"))


def curves(folder):
    """Steps and values of each tag, as TensorBoard reads them."""
    found = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0}).Reload()
    scalars = {name: [(e.step, e.value) for e in found.Scalars(name)] for name in found.Tags()["scalars"]}
    return found, scalars


def logged(folder):
    """The same from the log; TensorBoard keeps 32 bits."""
    table = read_table(folder / "training.parquet", TRAINING).to_pylist()
    found = {}
    for row in table:
        value = torch.tensor(row["value"], dtype=torch.float32).item()
        found.setdefault(tag(row["statistic"]), []).append((row["step"], value))
    return found


def test_a_watched_training_has_the_same_bytes_and_tensorboard_has_its_log(images, tmp_path):
    for name in ("plain", "watched", "killed"):
        (tmp_path / name).mkdir()
    plain = run(tmp_path / "plain")
    assert run(tmp_path / "watched", "tensorboard", images) == plain
    folder = Path("results/tracking/finetune_captioner/x")
    found, scalars = curves(folder)
    assert scalars == logged(tmp_path / "plain")
    assert {name.split("/")[0] for name in scalars} == {"training", "optimizer", "validation"}
    # Killed in update 9 with a checkpoint of update 5, and with curves beyond it.
    with pytest.raises(StopIteration):
        run(tmp_path / "killed", "tensorboard", images, fails_at=8)
    assert curves(folder)[1]["training/loss"][-1][0] == 8
    assert run(tmp_path / "killed", "tensorboard", images) == plain
    found, scalars = curves(folder)
    assert scalars == logged(tmp_path / "plain")
    assert [event.step for event in found.Tensors("captions/table")] == [0, 4, 8, 12]
    assert [event.step for event in found.Images("captions/a/1")] == [0, 4, 8, 12]
    assert len([*folder.iterdir()]) == 1


def test_captions_over_training_are_those_of_trainings_of_that_length(images, tmp_path):
    run(tmp_path)
    rows = read_table(tmp_path / "training_captions.parquet", TRAINING_CAPTIONS).to_pylist()
    expected = []
    for steps in range(0, STEPS + 1, EVERY):
        model = TinyCaptioner()
        visual, captions = data()
        if steps:
            train(
                model,
                CrossEntropy(),
                CaptionBatches(visual, captions, size=6, seed=3, padding=END),
                {"kind": "adam", "lr": 0.05, "steps": steps},
                seed=5,
                log_path=tmp_path / "shorter.parquet",
                state_directory=tmp_path / f"state-{steps}",
                fingerprint="f",
                device="cpu",
            )
        with torch.no_grad():
            texts, rewards = caption(model.eval())
        for row in zip([steps] * 2, IDS, texts, rewards, strict=True):
            expected.append(dict(zip(TRAINING_CAPTIONS.columns, row, strict=True)))
    assert rows == expected
    assert len({row["caption"] for row in rows}) > 2


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), ModuleNotFoundError("No module")])
def test_a_tracker_that_fails_is_one_warning(images, tmp_path, monkeypatch, caplog, failure):
    def broken(*given, **named):
        raise failure

    plain = run(tmp_path)
    monkeypatch.setattr(tensorboard.Board, "_write", broken)
    (tmp_path / "broken").mkdir()
    assert run(tmp_path / "broken", "tensorboard", images) == plain
    (warning,) = [record.getMessage() for record in caplog.records if record.name == tracker.__name__]
    assert warning.startswith("The training goes on without tensorboard: ")
    assert ("pip install" in warning) == isinstance(failure, ModuleNotFoundError)


def test_a_tracker_that_hangs_holds_nothing_up(images, tmp_path, monkeypatch, caplog):
    released = threading.Event()
    monkeypatch.setattr(tensorboard.Board, "add", lambda *given: released.wait(60))
    monkeypatch.setattr(tracker, "PATIENCE", 0.1)
    told = Tracker("tensorboard", Run("r", "x", "test", images))
    monkeypatch.setattr(tracker, "WAITING", 3)
    start = time.monotonic()
    with told.following([Update(0, {})]):
        for step in range(1000):
            told.add(Update(step, {"loss": 1.0}))
    assert time.monotonic() - start < 30
    released.set()
    assert len([record for record in caplog.records if record.name == tracker.__name__]) == 1


@pytest.mark.parametrize("length", [0, 1, 7, 4096])
def test_records_are_those_of_tensorboards_writer(length):
    content, stream = bytes(index * 37 % 256 for index in range(length)), io.BytesIO()
    RecordWriter(stream).write(content)
    assert tensorboard.record(content) == stream.getvalue()


def test_texts_are_those_of_tensorboards_text_plugin():
    assert [tensorboard.text("captions/table", "| ü |\n")] == [*text_pb("captions/table", "| ü |\n").value]


def test_to_watch_a_training_imports_no_client_of_a_cloud():
    found = "import sys, captionlab.tracking.tensorboard; print({'boto3', 'fsspec', 'tensorflow'} & {*sys.modules})"
    result = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"


HOSTILE = "<script>alert(1)</script> | a\n| b ![x](http://e.x/i.png) [y](http://e.x) `c` *d* _e_ & &amp;"


def test_captions_cannot_break_out_of_the_table():
    shown = Update(1, {}, [Example("i|1", [HOSTILE, "two"], HOSTILE, 0.25), Example("i2", ["r"], "", None)])
    page = markdown_to_safe_html(tensorboard.table(shown))
    assert page.count("<tr>") == 3
    assert page.count("<td>") == 8
    assert not re.findall(r"<(script|img|a|code|em|strong)\b", page)
    visible = page.replace("&lt;", "<").replace("&gt;", ">").replace("&#38;", "&")
    assert "alert" in visible
    assert ">0.25<" in page


def test_cards_have_an_image_and_a_caption(images):
    kept, gone = pictures.Pictures(images).of(IDS)
    assert (kept.size, gone) == ((pictures.SIDE, pictures.SIDE // 2), None)
    first = pictures.card(kept, Example("1", ["a"], "a short caption", 1.0))
    other = pictures.card(kept, Example("1", ["a"], "another caption", 1.0))
    assert first.getpixel((pictures.SIDE // 2, pictures.SIDE // 2)) == (255, 0, 0)
    assert first.tobytes() != other.tobytes()
    long = pictures.card(None, Example("1", ["a"], "a word " * 100, None))
    assert long.height > first.height


def test_who_watches_is_what_the_config_says():
    output = SimpleNamespace(weights="results/captioners/x/model.safetensors")
    job = SimpleNamespace(config={}, rule="r", output=output, input=SimpleNamespace(images="i"))
    assert tracker_of(job).run is None
    job.config = {"tracking": "tensorboard", "name": "toy"}
    assert (tracker_of(job).kind, tracker_of(job).run) == ("tensorboard", Run("r", "x", "toy", "i"))


def test_a_package_that_is_not_installed_is_a_sentence(monkeypatch):
    assert missing("none") is None
    assert missing("tensorboard") is None
    monkeypatch.setattr("captionlab.tracking.packages.find_spec", lambda name: None)
    assert missing("tensorboard") == ("tracking is tensorboard, which is not installed: pip install tensorboard")
    assert "uv pip install --override" in missing("trackio")


def test_trackio_has_the_log_once(images, tmp_path):
    pytest.importorskip("trackio", reason="not in the lock file: it asks for a Pillow below 13")
    plain = run(tmp_path)
    (tmp_path / "killed").mkdir()
    with pytest.raises(StopIteration):
        run(tmp_path / "killed", "trackio", images, fails_at=8)
    assert run(tmp_path / "killed", "trackio", images) == plain
    from trackio.sqlite_storage import SQLiteStorage

    (name,) = SQLiteStorage.get_runs("test")
    assert name == "finetune_captioner/x"
    rows = SQLiteStorage.get_logs("test", name)
    assert [row["step"] for row in rows] == [*range(STEPS + 1)]
    log = read_table(tmp_path / "training.parquet", TRAINING).to_pylist()
    for wanted in log:
        assert rows[wanted["step"]][tag(wanted["statistic"])] == wanted["value"]
    assert len(rows[4]["captions/table"]["_value"]) == len(IDS)


def test_trackio_shows_texts_as_they_are(images):
    pytest.importorskip("trackio", reason="not in the lock file: it asks for a Pillow below 13")
    from trackio.sqlite_storage import SQLiteStorage

    from captionlab.tracking.trackio import Board

    board = Board(Run("finetune_captioner", "y", "texts", images))
    board.add(Update(1, {}, [Example("a/1", [HOSTILE, "two"], HOSTILE, 0.25)]))
    board.close()
    (found,) = SQLiteStorage.get_logs("texts", "finetune_captioner/y")
    (shown,) = found["captions/table"]["_value"]
    assert (shown["caption"], shown["references"]) == (HOSTILE, f"{HOSTILE} / two")
