"""A training of a few updates that a tracker shows, with captions of two images, of which the second is gone."""

from pathlib import Path

import torch
from PIL import Image
from support.training_stand_in import END, TinyCaptioner, data, decode

from captionlab.storage.schemas import IMAGES, TRAINING
from captionlab.storage.tables import read_table, write_table
from captionlab.tracking.tracker import Tracker
from captionlab.tracking.updates import TrackedTraining, tag
from captionlab.training.loop.batches import CaptionBatches
from captionlab.training.loop.examples import Examples
from captionlab.training.loop.trainer import Validation, train
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy

STEPS, EVERY, IDS = 12, 4, ("a/1", "b|2")
FOLDER = Path("results/tracking/finetune_captioner/x")


def images_table(folder):
    """Write a table of two images into a folder, which must be the working directory; the second image is gone."""
    Image.new("RGB", (20, 10), "red").save("red.png")
    columns = {name: [None, None] for name in IMAGES.columns}
    columns |= {"image_id": [*IDS], "position": [0, 1], "split": ["train"] * 2, "path": ["red.png", "gone.png"]}
    write_table("images.parquet", IMAGES, {**columns, "width": [20] * 2, "height": [10] * 2})
    return folder / "images.parquet"


def caption(model):
    """The likeliest tokens of two images, and a reward of one of them."""
    visual = data()[0][:2]
    tokens = model.logits(visual, torch.zeros(2, 5, dtype=torch.long)).argmax(-1)
    return decode(tokens), [float(tokens[0].sum()), None]


def tracked(images):
    """The training as trackers are told of it."""
    config = {"optimizer": {"kind": "adam", "lr": 0.05}, "objective": {"kind": "cross-entropy"}}
    return TrackedTraining("finetune_captioner", "x", "f00d", config, str(FOLDER), images)


def run(folder, images=None, fails_at=None, program="tensorboard"):
    """Train to the end, or fail after so many updates; the bytes of what comes out, with the captions beside them."""
    model, examples, visual, captions = TinyCaptioner(), Examples(IDS, [["one", "two"], ["three"]], caption), *data()
    batches, objective = CaptionBatches(visual, captions, size=6, seed=3, padding=END), CrossEntropy()
    told = Tracker(tracked(images), program) if images else Tracker()
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


def logged(folder):
    """The same from the log; TensorBoard keeps 32 bits."""
    table = read_table(folder / "training.parquet", TRAINING).to_pylist()
    found = {}
    for row in table:
        value = torch.tensor(row["value"], dtype=torch.float32).item()
        found.setdefault(tag(row["statistic"]), []).append((row["step"], value))
    return found
