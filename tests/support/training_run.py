"""A made-up run with trainings: logs, captions over time, cards, images and descriptions of models."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from captionlab.reporting.trainings.captions import at_validations
from captionlab.reporting.trainings.pages import Run
from captionlab.storage.schemas import IMAGES, TRAINING, TRAINING_CAPTIONS
from captionlab.storage.tables import write_table

HOSTILE = """<img src=x onerror="alert(1)">&'|`${1}"""
# A name that a file can have.
NAME = HOSTILE.replace("/", "")
CARD = """---
a: 1
---

# {name}

Beside [tuned](../../captioners/tuned/README.md), [weights](model.safetensors), [elsewhere](https://example.org/).
<script>alert(1)</script> [bad](javascript:alert(1)) {hostile}

| metric | value |
| --- | ---: |
| CIDEr | 1.25 |
"""


def model(name: str, *ancestors: str, section: str = "captioners", **changes: Any) -> dict[str, Any]:
    """A description of a model that is trained here, as captionlab.graph.documents has it."""
    line = [{"name": one, "way": "finetuned", "corpus": "photos"} for one in (name, *ancestors)]
    return {
        "section": section, "name": name, "family": "newfc", "headline": f"A family {HOSTILE}", "job": f"rule/{name}",
        "line": line, "names": {}, "select": False, "snapshot_of": None, "trainings": [], "sources": [], "seed": 1,
        "unit": "epoch", "origin": [], "rewarded": [], **changes,
    }  # fmt: skip


def imported(name: str, section: str = "captioners") -> dict[str, Any]:
    """A description of a model whose weights were published."""
    line = [{"name": name, "way": "imported", "corpus": None}]
    sources = [{"what": "weights", "licence": "MIT", "repository": None}]
    return model(name, section=section, job=None, line=line, seed=None, origin=["hub/base"], sources=sources)


def write_log(path: Path, updates: int, seed: int, validate: int = 0) -> Path:
    """Write a log with a loss, a reward and a learning rate at each update, and a validation at some."""
    rng, rows = np.random.default_rng(seed), []
    for step in range(1, updates + 1):
        values = {"loss": 5 / step + rng.random(), "reward": rng.normal(), "learning_rate": 1e-3 * (1 - step / updates)}
        if validate and step % validate == 0:
            values["validation_cider"] = step / updates
        rows += [(step, 0, statistic, value) for statistic, value in values.items()]
    write_table(
        path, TRAINING, dict(zip(("step", "epoch", "statistic", "value"), zip(*rows, strict=True), strict=True))
    )
    return path


def training_run(folder: Path, updates: int = 300) -> Run:
    """A run: `base` is published; `tuned`, with two seeds and a snapshot, and its child are trained; so is a scorer."""
    reward = {"kind": "scorer", "section": "scorers", "name": "judge", "encoder": None}
    seeds = ["tuned", "tuned-5"]
    models = [
        imported("base"),
        model("tuned-5", "base", trainings=seeds, seed=5, rewarded=[reward]),
        model("tuned", "base", trainings=seeds, rewarded=[reward], names={"encoder": "eye"}, select=True),
        model("tuned@2", "base", snapshot_of="tuned"),
        model(NAME, "tuned", "base", rewarded=[{**reward, "name": "eye-scorer", "encoder": "eye"}]),
        model("judge", section="scorers"),
        imported("eye", "encoders"),
    ]
    logs, cards = {}, {}
    for number, one in enumerate(one for one in models if one["job"]):
        own = folder / "results" / one["section"] / one["name"]
        logs[one["section"], one["name"]] = write_log(
            own / "training.parquet", updates // 3 if one["snapshot_of"] else updates, number, validate=20
        )
        (own / "README.md").write_text(CARD.format(name=one["name"], hostile=HOSTILE), encoding="utf-8")
        cards[one["section"], one["name"]] = own / "README.md"
    photos = folder / "photos.parquet"
    Image.new("RGB", (400, 300), "teal").save(folder / "photo.png")
    where = {"path": [str(folder / "photo.png"), str(folder / "gone.png")], "offset": [None] * 2, "length": [None] * 2}
    sizes = {"data": [None] * 2, "width": [400] * 2, "height": [300] * 2, "image_set": [None] * 2}
    ids = {"image_id": ["a", HOSTILE], "position": [0, 1], "split": ["train"] * 2}
    write_table(photos, IMAGES, {**ids, **where, **sizes})
    said = [(step, image, f"{HOSTILE} {step}", step / 7) for step in range(0, 1000, 50) for image in ("a", HOSTILE)]
    names = ("step", "image_id", "caption", "reward")
    recorded = folder / "training_captions.parquet"
    write_table(recorded, TRAINING_CAPTIONS, dict(zip(names, zip(*said, strict=True), strict=True)))
    over_time = at_validations(recorded, "photos")
    assert over_time
    return Run(
        models=models,
        logs={key: str(path) for key, path in logs.items()},
        cards={key: str(path) for key, path in cards.items()},
        captions={"tuned": [over_time]},
        images={"photos": str(photos)},
        shown={"tuned": ["main", "photos"], "base": ["main", "photos"]},
        made=["Made from the config 'made-up'."],
        caveats=["limited"],
    )
