"""The scripts that train captioners, on tables and a retriever of a few rows: what they write, and that they resume."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch

from captionlab.captioners.store import load_captioner
from captionlab.captioners.tokenizer import Tokenizer
from captionlab.features.clip import Clip, build
from captionlab.features.embeddings import embedding_rows
from captionlab.tables import CAPTIONS, IMAGES, TRAINING, embeddings_kind, read_table, write_table
from captionlab.training.checkpoints import Checkpoints
from captionlab.training.cross_entropy import CrossEntropy
from captionlab.training.data import encode_references, references, training_images
from captionlab.training.reinforce import Reinforce

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
OUTPUTS = {
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "training": "training.parquet",
}
TRAIN, DIMENSIONS = 12, 8


def script(name):
    specification = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


class Files(dict):
    """Named inputs or outputs, as Snakemake gives them: attributes, and all files when iterated over."""

    def __getattr__(self, name):
        return self[name]

    def __iter__(self):
        for value in self.values():
            yield from value if isinstance(value, list) else [value]


@pytest.fixture
def world(tmp_path, monkeypatch):
    """In the working directory: a corpus of 12 training and 3 test images, two shards of features, a retriever."""
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    ids = [f"image-{i}" for i in range(TRAIN + 3)]
    write_table(
        "images.parquet",
        IMAGES,
        {
            "image_id": ids,
            "position": list(range(len(ids)))[::-1],
            "split": ["train"] * TRAIN + ["test"] * 3,
            "path": ["none"] * len(ids),
            "data": [None] * len(ids),
            "width": [1] * len(ids),
            "height": [1] * len(ids),
            "image_set": [None] * len(ids),
        },
    )
    texts = [
        (image, rank, f"a {'red' if i % 2 else 'blue'} ball {i} .") for i, image in enumerate(ids) for rank in (0, 1)
    ]
    write_table("captions.parquet", CAPTIONS, dict(zip(CAPTIONS.columns, zip(*texts, strict=True), strict=True)))
    kind = embeddings_kind(DIMENSIONS)
    values = np.random.default_rng(0).standard_normal((len(ids), DIMENSIONS))
    for shard, rows in enumerate((slice(0, 7), slice(7, None))):
        path = f"features-{shard}.parquet"
        write_table(path, kind, embedding_rows(pa.chunked_array([ids[rows]]), values[rows], kind, path))
    architecture = {
        "embed_dim": DIMENSIONS,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 32},
        "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
    }
    Clip(build(architecture), {"architecture": architecture, "image_mean": [0.5] * 3, "image_std": [1.0] * 3}).save(
        "clip"
    )
    return tmp_path


def job(directory, config, **inputs):
    params = {"code": "c", "versions": {}, "config": config, "seed": 3}
    features = ["features-0.parquet", "features-1.parquet"]
    return SimpleNamespace(
        input=Files(images="images.parquet", features=features, **inputs),
        output=Files({name: f"{directory}/{file}" for name, file in OUTPUTS.items()}),
        params=type("Params", (dict,), {"__getattr__": dict.__getitem__})(params),
        threads=1,
    )


def pretraining(directory):
    sizes = {"prefix_length": 2, "width": 8, "layers": 1, "heads": 2, "positions": 24, "mapper_hidden": 4}
    config = {
        "family": "clipcap",
        "architecture": {**sizes, "vocabulary": 270},
        "objective": {"kind": "cross-entropy"},
        "optimizer": {"kind": "adamw", "lr": 1e-2, "batch": 4, "epochs": 3, "schedule": "cosine", "accumulate": 2},
    }
    return job(directory, config, captions="captions.parquet")


def finetuning(directory, **objective):
    config = {
        "objective": {
            "kind": "reinforce",
            "reward": {"kind": "discriminative", "retriever": "clip", "candidates": 3},
            "baseline": "running-mean",
            "decoding": {"kind": "sample", "max_tokens": 6},
            **objective,
        },
        "optimizer": {"kind": "adam", "lr": 1e-2, "batch": 6, "steps": 7},
    }
    return job(
        directory,
        config,
        parent_config="parent/config.json",
        parent_weights="parent/model.safetensors",
        parent_tokenizer="parent/tokenizer.json",
        retriever_config="clip/config.json",
        retriever_weights="clip/model.safetensors",
        retriever_features=["features-0.parquet", "features-1.parquet"],
    )


def content(directory):
    assert sorted(path.name for path in Path(directory).iterdir()) == sorted(OUTPUTS.values())
    return {file: Path(directory, file).read_bytes() for file in OUTPUTS.values()}


def interrupted(run, objective, monkeypatch):
    """Run a script that fails in its sixth batch or part of one, after which it has checkpoints."""
    calls = iter(range(5))
    with monkeypatch.context() as patch:
        original = objective.loss
        patch.setattr(objective, "loss", lambda *given: (next(calls), original(*given))[1])
        patch.setattr(Checkpoints, "due", lambda self, step: True)
        with pytest.raises(StopIteration):
            run()
    assert list(Path("results/state").rglob("*.pt"))


def test_pretraining(world, monkeypatch):
    run = script("pretrain_captioner").main
    run(pretraining("first"))
    captioner, tokenizer = load_captioner("first")
    assert captioner.architecture["prefix_size"] == DIMENSIONS
    assert captioner.architecture["vocabulary"] == tokenizer.size
    log = read_table("first/training.parquet", TRAINING).to_pandas()
    loss = log[log.statistic == "loss"]
    assert loss.step.tolist() == list(range(1, 10))
    assert loss.epoch.tolist() == [0] * 3 + [1] * 3 + [2] * 3
    assert loss.value.iloc[-1] < loss.value.iloc[0]
    interrupted(lambda: run(pretraining("second")), CrossEntropy, monkeypatch)
    run(pretraining("second"))
    assert content("second") == content("first")
    assert not list(Path("results/state").rglob("*.pt"))


def test_finetuning(world, monkeypatch):
    script("pretrain_captioner").main(pretraining("parent"))
    run = script("finetune_captioner").main
    run(finetuning("first"))
    parent, _ = load_captioner("parent")
    child, _ = load_captioner("first")
    assert torch.equal(child.gpt.transformer.wte.weight, parent.gpt.transformer.wte.weight)
    assert not torch.equal(child.gpt.transformer.wpe.weight, parent.gpt.transformer.wpe.weight)
    log = read_table("first/training.parquet", TRAINING).to_pandas()
    assert {"reward", "accuracy", "baseline", "log_prob", "caption_length", "distinct", "loss"} <= set(log.statistic)
    reward, baseline = (log[log.statistic == name].value.to_numpy() for name in ("reward", "baseline"))
    assert baseline[3] == pytest.approx(reward[:3].mean(), rel=1e-5)
    interrupted(lambda: run(finetuning("second")), Reinforce, monkeypatch)
    run(finetuning("second"))
    assert content("second") == content("first")
    run(finetuning("third", freeze_embeddings=False))
    child, _ = load_captioner("third")
    assert not torch.equal(child.gpt.transformer.wte.weight, parent.gpt.transformer.wte.weight)


def test_features_are_read_once_where_captioner_and_retriever_share_them(world, monkeypatch):
    script("pretrain_captioner").main(pretraining("parent"))
    finetune = script("finetune_captioner")
    read, original = [], finetune.load_embeddings
    monkeypatch.setattr(finetune, "load_embeddings", lambda *given: (read.append(given), original(*given))[1])
    finetune.main(finetuning("shared"))
    assert len(read) == 1
    own = finetuning("own")
    own.input["retriever_features"] = own.input["retriever_features"][::-1]
    finetune.main(own)
    assert len(read) == 3
    assert content("own") == content("shared")


def test_training_data(world):
    ids = training_images("images.parquet")
    assert ids == [f"image-{i}" for i in reversed(range(TRAIN))]
    texts = references("captions.parquet", ids)
    assert texts[0] == ["a red ball 11 .", "a red ball 11 ."]
    with pytest.raises(ValueError, match="1 training images have no caption, the first is 'unknown'"):
        references("captions.parquet", [*ids, "unknown"])


def test_long_references_lose_their_end():
    tokenizer = Tokenizer.train(["a red ball"], 257)
    (short, long), (other,) = encode_references([["abc", "abcdef"], ["xy"]], tokenizer, longest=4)
    letters = tokenizer.encode(["abcdef"])[0]
    assert short == [*letters[:3], tokenizer.end]
    assert long == letters[:4]
    assert other == [*tokenizer.encode(["xy"])[0], tokenizer.end]
