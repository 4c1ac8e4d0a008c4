"""Batches of images that lie in a table larger than memory: a few groups of its rows at a time, for every training."""

from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
import torch
from support import vinvl_stand_in as tiny

from captionlab.captioners.newfc.captioner import NewFC
from captionlab.encoders.embeddings import embedding_rows
from captionlab.plugins import defined
from captionlab.regions.batches import RegionTable
from captionlab.storage.order import Places
from captionlab.storage.schemas import CAPTIONS as REFERENCES
from captionlab.storage.schemas import IMAGES, embeddings_schema
from captionlab.storage.tables import write_table
from captionlab.training.loop.batches import CaptionBatches, ImageBatches
from captionlab.training.loop.data import TrainingData
from captionlab.training.objectives.mlm.objective import MaskedBatches

IDS = ["4", "2", "1", "3"]
# Of 30 images, ten in a group as they come: each third one.
GROUPS = np.arange(30) % 3
CAPTIONS = [[[7, 9], [8, 9]]] * 30


@pytest.mark.parametrize(
    ("make", "images"),
    [
        (lambda visual, **places: ImageBatches(visual, 10, 5, **places), 10),
        (lambda visual, **places: CaptionBatches(visual, CAPTIONS, 10, 5, padding=9, **places), 10),
        # Two references of each image.
        (partial(MaskedBatches, captions=CAPTIONS, size=20, seed=5, start=1, mask=2, vocabulary=10), 20),
    ],
)
def test_images_of_a_group_come_together(make, images):
    visual = torch.arange(30)
    one_by_one, plain = make(visual, places=Places(GROUPS, 1)), make(visual)
    first = set()
    for epoch in range(6):
        found = [one_by_one[3 * epoch + batch].visual.tolist() for batch in range(3)]
        assert all(len({row % 3 for row in rows}) == 1 for rows in found)
        assert sorted(chain.from_iterable(found)) == sorted([*range(30)] * (images // 10))
        first.add(found[0][0] % 3)
    assert len(first) > 1
    fits = make(visual, places=Places(GROUPS, 3))
    assert [fits[step].visual.tolist() for step in range(6)] == [plain[step].visual.tolist() for step in range(6)]
    assert len({row % 3 for row in plain[0].visual.tolist()}) == 3


@pytest.fixture
def corpus(tmp_path):
    """Tables of four training images: regions and tags, embeddings, references, and the images themselves."""
    tiny.images(tmp_path)
    rows = {name: [None] * 4 for name in IMAGES.columns}
    rows |= {"image_id": IDS, "position": range(4), "split": ["train"] * 4, "path": ["none"] * 4}
    write_table(tmp_path / "images.parquet", IMAGES, {**rows, "width": [1] * 4, "height": [1] * 4})
    kind = embeddings_schema(2)
    found = embedding_rows(pa.chunked_array([IDS]), np.eye(4, 2, dtype=np.float32), kind, "embeddings")
    write_table(tmp_path / "embeddings.parquet", kind, found)
    texts = {"caption_index": [0] * 4 + [1] * 4, "caption": ["a boat"] * 4 + ["the sea"] * 4}
    write_table(tmp_path / "captions.parquet", REFERENCES, {"image_id": IDS * 2, **texts})
    return tmp_path


def test_places_are_those_of_the_regions_that_are_read(corpus):
    regions, embeddings, images = (str(corpus / f"{name}.parquet") for name in ("regions", "embeddings", "images"))
    reward_models = {
        name: {"directory": "none", "features": [path]}
        for name, path in (("encoders/a", embeddings), ("scorers/b", images), ("scorers/c", regions))
    }
    expected = RegionTable(regions).places(IDS)
    of_embeddings = NewFC(2, width=4, input_width=4, vocabulary=9)
    on_embeddings = TrainingData(
        images, [embeddings], "cpu", 2, 1, reward_models=reward_models, captioner=of_embeddings
    )
    without_regions = {name: reward_models[name] for name in ("encoders/a", "scorers/b")}
    elsewhere = replace(on_embeddings, reward_models=without_regions)
    assert on_embeddings.places.groups.tolist() == expected.groups.tolist()
    assert on_embeddings.places.mixed == expected.mixed
    assert elsewhere.places is None
    captioner = {"captioner": tiny.captioner(), "tokenizer": tiny.tokenizer()}
    on_regions = TrainingData(images, [regions, str(corpus / "tags.parquet")], "cpu", 2, 1, **captioner)
    assert on_regions.places.groups.tolist() == expected.groups.tolist()


@pytest.mark.parametrize("kind", ["cross-entropy", "mlm", "reinforce", "self-critical", "grpo"])
def test_every_objective_reads_in_that_order(corpus, kind, monkeypatch):
    """A captioner on regions, with CIDEr as reward, two batches in an epoch."""
    captioner = {"captioner": tiny.captioner(), "tokenizer": tiny.tokenizer()}
    paths = [str(corpus / f"{name}.parquet") for name in ("regions", "tags")]
    data = TrainingData(corpus / "images.parquet", paths, "cpu", 2, 1, corpus / "captions.parquet", **captioner)
    monkeypatch.setattr(RegionTable, "places", lambda table, images: Places(np.array([0, 1, 1, 0]), 1))
    rewarded = {"reward": {"kind": "cider"}, "decoding": {"kind": "sample", "max_tokens": 5}}
    config = {
        "cross-entropy": {"captions_per_image": 1},
        "mlm": {"freeze_embeddings": False},
        "reinforce": {**rewarded, "baseline": "none", "dropout": True},
        "self-critical": {**rewarded, "freeze_embeddings": False, "kl": 0.0},
        "grpo": {**rewarded, "samples": 2, "updates": 2, "clip": 0.2, "kl": 0.0},
    }[kind]
    _, batches = defined("training.objectives", kind, "build")({"kind": kind, **config}, data)
    for epoch in range(4):
        rows = batches.order[len(batches) * epoch].tolist()
        assert len({batches.order.places.groups[row] for row in rows}) == 1


BAGS = {size: np.random.default_rng(size).permutation(30)[: 30 // size * size].reshape(-1, size) for size in (2, 4)}


def rows_of(batches, epoch):
    """The rows of the batches of an epoch, one batch after the other."""
    return [batches[3 * epoch + batch].images.tolist() for batch in range(3)]


def test_bags_come_together_and_grow_by_epoch():
    batches = ImageBatches(torch.arange(30), 10, 5, bags=[(0, BAGS[2]), (2, BAGS[4])])
    epochs = [[*chain.from_iterable(rows_of(batches, epoch))] for epoch in range(4)]
    for epoch, rows in enumerate(epochs):
        size = 2 if epoch < 2 else 4
        assert sorted(rows) == [*range(30)]
        pieces = [{*rows[start : start + size]} for start in range(0, 30 // size * size, size)]
        assert all(piece in map(set, BAGS[size].tolist()) for piece in pieces)
    assert epochs[0] != epochs[1]
    assert epochs[2] != epochs[3]
    assert {*epochs[2][28:]} == {*range(30)} - {*BAGS[4].ravel().tolist()}


def test_a_batch_of_bags_depends_on_its_number_and_the_seed_alone():
    """A resumed training asks for a batch first that another training reaches after all others."""
    bags = [(0, BAGS[2]), (2, BAGS[4])]
    whole = ImageBatches(torch.arange(30), 10, 5, bags=bags)
    of_all = [whole[step].images.tolist() for step in range(12)]
    for step in reversed(range(12)):
        assert ImageBatches(torch.arange(30), 10, 5, bags=bags)[step].images.tolist() == of_all[step]
    assert ImageBatches(torch.arange(30), 10, 6, bags=bags)[0].images.tolist() != of_all[0]
