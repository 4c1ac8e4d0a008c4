"""What people see of a training: the reader of TensorBoard against the log, and what may go wrong."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from support.training_stand_in import END, TinyCaptioner, data, decode
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugin_util import markdown_to_safe_html

from captionlab.storage.schemas import IMAGES, TRAINING, TRAINING_CAPTIONS
from captionlab.storage.tables import read_table, write_table
from captionlab.tracking import board, pictures, tracker
from captionlab.tracking.board import tag
from captionlab.tracking.tracker import Tracker
from captionlab.tracking.updates import Example, TrackedTraining, Update
from captionlab.training.loop.batches import CaptionBatches
from captionlab.training.loop.checkpoints import Training
from captionlab.training.loop.examples import Examples
from captionlab.training.loop.trainer import Validation, train
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy

STEPS, EVERY, IDS = 12, 4, ("a/1", "b|2")
FOLDER = Path("results/tracking/finetune_captioner/x")


@pytest.fixture
def images(tmp_path, monkeypatch):
    """In the working directory a table of two images, of which the second is gone."""
    monkeypatch.chdir(tmp_path)
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


def run(folder, images=None, fails_at=None):
    """Train to the end, or fail after so many updates; the bytes of what comes out, with the captions beside them."""
    model, examples, visual, captions = TinyCaptioner(), Examples(IDS, [["one", "two"], ["three"]], caption), *data()
    batches, objective = CaptionBatches(visual, captions, size=6, seed=3, padding=END), CrossEntropy()
    told = Tracker(TrackedTraining(str(FOLDER), images) if images else None)
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
    monkeypatch.setattr(board.Board, failing, broken)
    (tmp_path / "broken").mkdir()
    assert run(tmp_path / "broken", images) == plain
    (warning,) = [record.getMessage() for record in caplog.records if record.name == tracker.__name__]
    assert warning.startswith("The training goes on without TensorBoard: ")
    assert ("pip install" in warning) == isinstance(failure, ModuleNotFoundError)


HOSTILE = "<script>alert(1)</script> | a\n| b ![x](http://e.x/i.png) [y](http://e.x) `c` *d* _e_ & &amp;"


def test_captions_cannot_break_out_of_the_table():
    shown = Update(1, {}, [Example("i|1", [HOSTILE, "two"], HOSTILE, 0.25), Example("i2", ["r"], "", None)])
    page = markdown_to_safe_html(board.table(shown))
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
    training = Training("r", {}, "i", "results/captioners/x/model.safetensors", "results/captioners/x/training.parquet")
    assert training.tracker().run is None
    assert replace(training, tracking="tensorboard").tracker().run == TrackedTraining("results/tracking/r/x", "i")
