"""What people see of a training: the reader of TensorBoard against the log, and what may go wrong."""

import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
import torch
from support.tracked_training import EVERY, FOLDER, IDS, STEPS, caption, images_table, logged, run
from support.training_stand_in import END, TinyCaptioner, data
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugin_util import markdown_to_safe_html

from captionlab.config.sections import Sections
from captionlab.storage.schemas import TRAINING_CAPTIONS
from captionlab.storage.tables import read_table
from captionlab.tracking import pictures, tensorboard, tracker
from captionlab.tracking.examples import table
from captionlab.tracking.tracker import PROGRAMS
from captionlab.tracking.updates import Example, TrackedTraining
from captionlab.training.loop.batches import CaptionBatches
from captionlab.training.loop.checkpoints import Training
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy


@pytest.fixture
def images(tmp_path, monkeypatch):
    """In the working directory a table of two images, of which the second is gone."""
    monkeypatch.chdir(tmp_path)
    return images_table(tmp_path)


def curves(folder):
    """Steps and values of each tag, as TensorBoard reads them."""
    found = EventAccumulator(str(folder), size_guidance={"scalars": 0, "images": 0, "tensors": 0}).Reload()
    scalars = {name: [(e.step, e.value) for e in found.Scalars(name)] for name in found.Tags()["scalars"]}
    return found, scalars


def test_a_watched_training_has_the_same_bytes_and_tensorboard_has_its_log(images, tmp_path):
    for name in ("plain", "watched", "killed"):
        (tmp_path / name).mkdir()
    plain = run(tmp_path / "plain")
    assert run(tmp_path / "watched", images) == plain
    found, scalars = curves(FOLDER)
    assert scalars == logged(tmp_path / "plain")
    assert {name.split("/")[0] for name in scalars} == {"training", "optimizer", "validation"}
    # Killed in update 9 with a checkpoint of update 5, and with curves beyond it.
    with pytest.raises(StopIteration):
        run(tmp_path / "killed", images, fails_at=8)
    assert curves(FOLDER)[1]["training/loss"][-1][0] == 8
    assert run(tmp_path / "killed", images) == plain
    found, scalars = curves(FOLDER)
    assert scalars == logged(tmp_path / "plain")
    assert [event.step for event in found.Tensors("captions/table/text_summary")] == [0, 4, 8, 12]
    assert [event.step for event in found.Images("captions/a/1")] == [0, 4, 8, 12]
    assert len([*FOLDER.iterdir()]) == 1


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


@pytest.mark.parametrize(
    ("failing", "failure"),
    [("add", OSError(28, "No space left on device")), ("__init__", ModuleNotFoundError("No module"))],
)
def test_a_tracker_that_fails_is_one_warning(images, tmp_path, monkeypatch, caplog, failing, failure):
    def broken(*given, **named):
        raise failure

    plain = run(tmp_path)
    monkeypatch.setattr(tensorboard.Board, failing, broken)
    (tmp_path / "broken").mkdir()
    assert run(tmp_path / "broken", images) == plain
    (warning,) = [record.getMessage() for record in caplog.records if record.name == tracker.__name__]
    assert warning.startswith("The training goes on without TensorBoard: ")
    assert ("pip install" in warning) == isinstance(failure, ModuleNotFoundError)


HOSTILE = "<script>alert(1)</script> | a\n| b ![x](http://e.x/i.png) [y](http://e.x) `c` *d* _e_ & &amp;"


def test_captions_cannot_break_out_of_the_table():
    shown = [Example("i|1", [HOSTILE, "two"], HOSTILE, 0.25), Example("i2", ["r"], "", None)]
    page = markdown_to_safe_html(table(shown))
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
    config = {"lora": {"rank": 2}}
    outputs = ("results/captioners/x/model.safetensors", "results/captioners/x/training.parquet")
    training = Training("r", {"config": config}, "i", *outputs)
    assert training.tracker("f").run is None
    watched = replace(training, tracking="wandb")
    told = watched.tracker("f")
    assert told.program == "wandb"
    assert told.run == TrackedTraining("r", "x", told.run.id, config, "results/tracking/r/x", "i")
    # A job that resumes the training shows the same run; another training is another run.
    ids = [watched.tracker(key).run.id for key in ("f", "f", "g")]
    ids += [replace(watched, rule="q").tracker("f").run.id, replace(watched, weights="x/y/z").tracker("f").run.id]
    assert (ids[0] == ids[1], len({*ids})) == (True, 4)


def test_each_program_has_a_module_and_a_name_in_the_config():
    named = get_args(Sections.model_fields["tracking"].annotation)
    assert {*named} == {*PROGRAMS, "none"}
    modules = {path.stem for path in Path(tracker.__file__).parent.glob("*.py")}
    assert {*PROGRAMS} <= modules
