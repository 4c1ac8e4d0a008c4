"""The scripts that train captioners, on tables and a retriever of a few rows: what they write, and that they resume."""

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file
from support.decodings import decoding_of
from support.running import load_script
from support.scorer_stand_in import build_scorer

from captionlab.captioners.adapters import merge_adapters
from captionlab.captioners.store import load_captioner
from captionlab.encoders.bags import all_in_bags
from captionlab.encoders.clip.encoder import Clip, build
from captionlab.encoders.embeddings import embedding_rows, load_embeddings
from captionlab.encoders.neighbours import NEIGHBOURS, nearest, neighbour_columns
from captionlab.generation.decoding import decode
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.tokenizer import Tokenizer
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.scorers.store import save_scorer
from captionlab.storage.schemas import CAPTIONS, IMAGES, TRAINING, embeddings_schema
from captionlab.storage.tables import read_table, write_table
from captionlab.training.loop import data as training_data
from captionlab.training.loop.data import encode_references, references, training_images
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy
from captionlab.training.objectives.grpo.objective import Grpo
from captionlab.training.objectives.reinforce.objective import Reinforce
from captionlab.training.objectives.self_critical.objective import SelfCritical
from captionlab.training.rewards import retrieval
from captionlab.training.rewards.retrieval import Discriminative

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
OUTPUTS = {
    "config": "config.json",
    "weights": "model.safetensors",
    "tokenizer": "tokenizer.json",
    "training": "training.parquet",
    "training_captions": "training_captions.parquet",
    "snapshots": "snapshots",
}
TRAIN, DIMENSIONS = 12, 8
DISCRIMINATIVE = {"kind": "discriminative", "retriever": "clip", "candidates": 3, "score": "scaled-cosine"}


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
            "offset": [None] * len(ids),
            "length": [None] * len(ids),
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
    kind = embeddings_schema(DIMENSIONS)
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


def job(directory, config, rule, asked=None, **inputs):
    params = {"code": "c", "versions": {}, "config": config, "seed": 3, "reward_models": asked or {}}
    inputs = {"captions": [], "bag_features": [], **inputs}
    features = ["features-0.parquet", "features-1.parquet"]
    return SimpleNamespace(
        input=Files(images="images.parquet", features=features, **inputs),
        output=Files({name: f"{directory}/{file}" for name, file in OUTPUTS.items()}),
        params=type("Params", (dict,), {"__getattr__": dict.__getitem__})(params),
        threads=1,
        rule=rule,
        config={"checkpoints": {"steps": 1}},
    )


def pretraining(directory):
    sizes = {"prefix_length": 2, "width": 8, "layers": 1, "heads": 2, "positions": 24, "mapper_hidden": 4}
    config = {
        "family": "clipcap",
        "architecture": {**sizes, "vocabulary": 270},
        "objective": {"kind": "cross-entropy", "captions_per_image": 1},
        "optimizer": {"kind": "adamw", "lr": 1e-2, "batch": 4, "epochs": 3, "schedule": "cosine", "accumulate": 2},
    }
    return job(directory, config, "pretrain_captioner", captions=["captions.parquet"])


def finetuning(directory, **objective):
    config = {
        "objective": {
            "kind": "reinforce",
            "reward": DISCRIMINATIVE,
            "baseline": "running-mean",
            "decoding": {"kind": "sample", "max_tokens": 6},
            "dropout": True,
            **objective,
        },
        "optimizer": {"kind": "adam", "lr": 1e-2, "batch": 6, "steps": 7},
    }
    return job(
        directory,
        config,
        "finetune_captioner",
        asked={"encoders/clip": {"directory": "clip", "features": ["features-0.parquet", "features-1.parquet"]}},
        parent_config="parent/config.json",
        parent_weights="parent/model.safetensors",
        parent_tokenizer="parent/tokenizer.json",
        reward_models=["clip/config.json", "clip/model.safetensors", "features-0.parquet", "features-1.parquet"],
    )


def adapting(directory, parent="parent", **lora):
    """The same with adapters of a parent."""
    tuned = finetuning(directory)
    tuned.params["config"]["lora"] = {
        "rank": 2,
        "alpha": 4,
        "targets": "all-linear",
        "dropout": 0.1,
        "merge": False,
        **lora,
    }
    for name, file in list(OUTPUTS.items())[:3]:
        tuned.input[f"parent_{name}"] = f"{parent}/{file}"
    return tuned


def content(directory):
    assert sorted(path.name for path in Path(directory).iterdir()) == sorted(OUTPUTS.values())
    files = (path for path in Path(directory).rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def interrupted(run, objective, monkeypatch):
    """Run a script that fails in its sixth batch or part of one, after which it has checkpoints."""
    calls = iter(range(5))
    with monkeypatch.context() as patch:
        original = objective.loss
        patch.setattr(objective, "loss", lambda *given: (next(calls), original(*given))[1])
        with pytest.raises(StopIteration):
            run()
    assert list(Path("results/state").rglob("*.pt"))


def test_pretraining(world, monkeypatch):
    run = load_script("pretrain_captioner").main
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


@pytest.mark.parametrize(
    ("section", "steps"),
    [({"seconds": 1e9, "steps": 2}, [2]), ({"seconds": 1e-9, "steps": None}, [1, 2]), ({"steps": 1}, [1, 2])],
)
def test_the_config_says_how_often_checkpoints_are_written(world, monkeypatch, caplog, section, steps):
    """And with another interval the training still goes on from those that are there."""
    run, often = load_script("pretrain_captioner").main, pretraining("often")
    run(pretraining("first"))
    often.config = {"checkpoints": section}
    interrupted(lambda: run(often), CrossEntropy, monkeypatch)
    assert sorted(int(path.name.split("-")[1]) for path in Path("results/state").rglob("*.pt")) == steps
    often.config = {}
    with caplog.at_level("INFO"):
        run(often)
    assert "Going on from the checkpoint of step 2 of 9" in caplog.text
    assert content("often") == content("first")


def take(name, number):
    """Make a snapshot of a training a captioner beside it."""
    folder = f"{name}@{number}"
    outputs = Files({key: f"{folder}/{OUTPUTS[key]}" for key in ("config", "weights", "tokenizer", "training")})
    params, inputs = SimpleNamespace(snapshot=number), SimpleNamespace(snapshots=f"{name}/snapshots")
    load_script("take_snapshot").main(SimpleNamespace(input=inputs, output=outputs, params=params))
    return Path(folder)


@pytest.mark.parametrize("unit", ["epochs", "steps"])
def test_snapshots_of_a_training(world, monkeypatch, unit):
    """They change nothing of it, are there again after an interruption, and are captioners of their own."""
    run, per = load_script("pretrain_captioner").main, {"epochs": 3, "steps": 1}[unit]

    def training(name, **keys):
        asked = pretraining(name)
        if unit == "steps":
            asked.params["config"]["optimizer"] |= {"steps": 9, "schedule": "linear"}
            del asked.params["config"]["optimizer"]["epochs"]
        asked.params["config"] |= keys
        return asked

    run(training("plain"))
    run(training("whole", snapshots=[1, 2]))
    for file in set(OUTPUTS.values()) - {"snapshots"}:
        assert Path("whole", file).read_bytes() == Path("plain", file).read_bytes()
    interrupted(lambda: run(training("again", snapshots=[1, 2])), CrossEntropy, monkeypatch)
    run(training("again", snapshots=[1, 2]))
    assert content("again") == content("whole")
    assert not list(Path("results/state").rglob("*.*"))
    for number in (1, 2):
        taken = take("whole", number)
        said = json.loads((taken / "config.json").read_text())["origin"]["snapshot"]
        assert said == {**({"epochs": number} if unit == "epochs" else {}), "updates": per * number}
        of_whole = read_table("whole/training.parquet", TRAINING).to_pylist()
        assert read_table(taken / "training.parquet", TRAINING).to_pylist() == [
            row for row in of_whole if row["step"] <= per * number
        ]
        assert load_captioner(taken)[1].size == load_captioner("whole")[1].size
    weights = {Path(name, "model.safetensors").read_bytes() for name in ("whole@1", "whole@2", "whole")}
    assert len(weights) == 3


@pytest.mark.parametrize("merge", [False, True])
def test_snapshots_of_adapters(world, merge):
    """Alone, and read with the parent, or in whole weights: the one snapshot is what the other is."""
    load_script("pretrain_captioner").main(pretraining("parent"))
    asked = adapting("child", merge=merge)
    asked.params["config"]["snapshots"] = [3]
    load_script("finetune_captioner").main(asked)
    alone = adapting("alone", merge=merge)
    load_script("finetune_captioner").main(alone)
    assert Path("child/model.safetensors").read_bytes() == Path("alone/model.safetensors").read_bytes()
    taken, _ = load_captioner(take("child", 3))
    assert bool(taken.adapters) == (not merge)
    end, _ = load_captioner("child")
    parent, _ = load_captioner("parent")
    visual, tokens = torch.randn(3, DIMENSIONS), torch.randint(0, 200, (3, 4))
    found, last, before = (one.log_probs(visual, tokens, tokens >= 0) for one in (taken, end, parent))
    assert (found - before).abs().max() > 1e-4
    assert (found - last).abs().max() > 1e-4


def test_a_snapshot_has_the_weights_that_validation_has_selected_by_then(world):
    """As a training that stops there has; where none is validated by then, that is said."""
    run = load_script("pretrain_captioner").main

    def training(name, **keys):
        asked = newfc_pretraining(name)
        asked.params["config"] |= keys
        return asked

    run(training("whole", snapshots=[1, 2, 3]))
    log = read_table("whole/training.parquet", TRAINING).to_pandas()
    cider = log[(log.statistic == "validation_cider") & (log.step > 0)].set_index("step").value
    every = training("every", snapshots=[2, 4, 6, 8, 10])
    every.params["config"]["optimizer"] |= {"steps": 12}
    del every.params["config"]["optimizer"]["epochs"]
    every.params["config"]["validation"]["select"] = False
    run(every)
    for number, updates in ((1, 3), (2, 6), (3, 9)):
        best = int(cider[cider.index <= updates].idxmax())
        kept = Path(f"whole/snapshots/{number}/model.safetensors").read_bytes()
        assert kept == Path(f"every/snapshots/{best}/model.safetensors").read_bytes()
    late = training("late", snapshots=[1])
    late.params["config"]["validation"]["every"] = 4
    with pytest.raises(ValueError, match="the first snapshot is taken after 3 updates"):
        run(late)


def test_finetuning(world, monkeypatch):
    load_script("pretrain_captioner").main(pretraining("parent"))
    run = load_script("finetune_captioner").main
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


@pytest.mark.parametrize("kind", ["reinforce", "self-critical"])
def test_finetuning_with_bags_of_look_alikes(world, monkeypatch, kind):
    """Batches have whole bags, of more images from the second epoch on; a training that is interrupted goes on so."""
    load_script("pretrain_captioner").main(pretraining("parent"))
    run, sizes = load_script("finetune_captioner").main, [{"epoch": 1, "size": 2}, {"epoch": 2, "size": 3}]

    def training(directory):
        bags = {"encoder": "clip", "sizes": sizes}
        critical = kind == "self-critical"
        asked = self_critical(directory, DISCRIMINATIVE, bags=bags) if critical else finetuning(directory, bags=bags)
        asked.input["bag_features"] = ["features-0.parquet", "features-1.parquet"]
        return asked

    batches, objective = [], SelfCritical if kind == "self-critical" else Reinforce
    with monkeypatch.context() as patch:
        original = objective.loss
        patch.setattr(objective, "loss", lambda self, model, batch: note(batches, batch, original, self, model))
        run(training("first"))
    embeddings = load_embeddings(["features-0.parquet", "features-1.parquet"], training_images("images.parquet")).values
    assert len(batches) == 7
    for step, images in enumerate(batches):
        size = 2 if step < 2 else 3
        bags = {frozenset(bag) for bag in all_in_bags(embeddings, size).tolist()}
        assert {frozenset(images[start : start + size]) for start in range(0, 6, size)} <= bags
    interrupted(lambda: run(training("second")), objective, monkeypatch)
    run(training("second"))
    assert content("second") == content("first")


def note(batches, batch, original, objective, model):
    """Add the images of a batch to `batches`, and return its loss."""
    batches.append(batch.images.tolist())
    return original(objective, model, batch)


def test_adapters_alone_are_trained_stored_and_in_checkpoints(world, monkeypatch):
    load_script("pretrain_captioner").main(pretraining("parent"))
    run = load_script("finetune_captioner").main
    run(adapting("first"))
    described = json.loads(Path("first/config.json").read_text())
    assert described["parent"]["captioner"] == "parent"
    assert described["parent"]["sha256"] == hashlib.sha256(Path("parent/model.safetensors").read_bytes()).hexdigest()
    stored = load_file("first/model.safetensors")
    assert len(stored) == 2 * 6
    assert all(name.endswith((".lora_A.weight", ".lora_B.weight")) for name in stored)
    assert all(value.abs().max() > 0 for value in stored.values())
    interrupted(lambda: run(adapting("second")), Reinforce, monkeypatch)
    (*_, newest) = sorted(Path("results/state").rglob("*.pt"))
    saved = torch.load(newest)
    assert {name.replace(".default", "") for name in saved["model"]} == stored.keys()
    averages = [of_parameter["exp_avg"] for of_parameter in saved["optimizer"]["state"].values()]
    assert sum(value.numel() for value in averages) == sum(value.numel() for value in stored.values())
    run(adapting("second"))
    assert content("second") == content("first")
    child, _ = load_captioner("first")
    parent, _ = load_captioner("parent")
    run(adapting("merged", merge=True))
    merged, _ = load_captioner("merged")
    assert merged.adapters is None
    visual, tokens = torch.randn(3, DIMENSIONS), torch.randint(0, 200, (3, 4))
    found, whole, before = (one.log_probs(visual, tokens, tokens >= 0) for one in (child, merged, parent))
    torch.testing.assert_close(whole, found, atol=1e-5, rtol=0)
    assert (found - before).abs().max() > 1e-4


def test_what_is_finetuned_from_adapters(world):
    """Adapters of what the parent is with its own, or a whole captioner of which everything is trained."""
    load_script("pretrain_captioner").main(pretraining("parent"))
    run = load_script("finetune_captioner").main
    run(adapting("child"))
    run(adapting("grandchild", parent="child", targets=["c_attn"]))
    assert json.loads(Path("grandchild/config.json").read_text())["parent"]["captioner"] == "child"
    assert len(load_file("grandchild/model.safetensors")) == 2
    whole = finetuning("whole")
    for name, file in list(OUTPUTS.items())[:3]:
        whole.input[f"parent_{name}"] = f"child/{file}"
    run(whole)
    assert load_file("whole/model.safetensors").keys() == load_file("parent/model.safetensors").keys()
    child, captioner = load_captioner("child")[0], load_captioner("whole")[0]
    merge_adapters(child)
    assert not torch.equal(captioner.gpt.transformer.h[0].ln_1.weight, child.gpt.transformer.h[0].ln_1.weight)
    again = pretraining("parent")
    again.params["seed"] = 4
    load_script("pretrain_captioner").main(again)
    with pytest.raises(
        CheckpointError,
        match=r"child has adapters that were trained on another model.safetensors than .*parent has now",
    ):
        load_captioner("grandchild")


def test_features_are_read_once_where_captioner_and_retriever_share_them(world, monkeypatch):
    load_script("pretrain_captioner").main(pretraining("parent"))
    run = load_script("finetune_captioner").main
    read = []
    for module in (training_data, retrieval):
        monkeypatch.setattr(module, "load_embeddings", lambda *given: (read.append(given), load_embeddings(*given))[1])
    run(finetuning("shared"))
    assert len(read) == 1
    own = finetuning("own")
    own.params["reward_models"]["encoders/clip"]["features"].reverse()
    run(own)
    assert len(read) == 3
    assert content("own") == content("shared")


def newfc_pretraining(directory):
    """The FC captioner with all that its authors' recipe has."""
    config = {
        "family": "newfc",
        "architecture": {"width": 8, "input_width": 6, "min_count": 2, "max_words": 4},
        "objective": {
            "kind": "cross-entropy",
            "captions_per_image": 3,
            "scheduled_sampling": {"increase": 0.2, "epochs": 1, "maximum": 0.3},
        },
        "validation": {"split": "test", "every": 2, "select": True, "decoding": {"kind": "greedy", "max_tokens": 6}},
        "optimizer": {
            "kind": "adam",
            "lr": 5e-2,
            "batch": 4,
            "epochs": 4,
            "schedule": "staircase",
            "decay": 0.5,
            "decay_epochs": 2,
            "clip_value": 0.1,
        },
    }
    return job(directory, config, "pretrain_captioner", captions=["captions.parquet"])


def self_critical(directory, reward, **objective):
    finetuned = finetuning(directory)
    finetuned.params["config"]["objective"] = {
        "kind": "self-critical",
        "reward": reward,
        "decoding": {"kind": "greedy", "max_tokens": 6},
        "samples": 2,
        "kl": 0.0,
        "freeze_embeddings": False,
        **objective,
    }
    finetuned.input["captions"] = ["captions.parquet"]
    return finetuned


def test_the_recipe_of_the_fc_captioner(world, monkeypatch):
    run = load_script("pretrain_captioner").main
    run(newfc_pretraining("first"))
    captioner, tokenizer = load_captioner("first")
    # "a", "red", "blue" and "ball" occur often enough in all splits together, and the numbers twice each.
    assert tokenizer.size == 2 + 4 + TRAIN + 3
    assert captioner.architecture["vocabulary"] == tokenizer.size
    log = read_table("first/training.parquet", TRAINING).to_pandas()
    values = {name: rows.set_index("step").value for name, rows in log.groupby("statistic")}
    assert values["learning_rate"].tolist() == [0.05] * 6 + [0.025] * 6
    assert values["sampled"].tolist() == pytest.approx([0.0] * 3 + [0.2] * 3 + [0.3] * 6)
    assert values["caption_length"].tolist() == [5.0] * 12
    cider = values["validation_cider"]
    assert cider.index.tolist() == [0, 2, 4, 6, 8, 10, 12]
    cider = cider.drop(0)
    # The weights are those of the first of the best looks.
    for steps in (int(cider.idxmax()), 12):
        shorter = newfc_pretraining(f"until-{steps}")
        del shorter.params["config"]["validation"]
        del shorter.params["config"]["optimizer"]["epochs"]
        shorter.params["config"]["optimizer"]["steps"] = steps
        run(shorter)
        weights = Path(f"until-{steps}/model.safetensors").read_bytes()
        assert (weights == Path("first/model.safetensors").read_bytes()) == (steps == int(cider.idxmax()))
    interrupted(lambda: run(newfc_pretraining("second")), CrossEntropy, monkeypatch)
    run(newfc_pretraining("second"))
    assert content("second") == content("first")


@pytest.mark.parametrize("family", ["clipcap", "newfc"])
def test_self_critical_finetuning(world, monkeypatch, family):
    parent = {"clipcap": pretraining, "newfc": newfc_pretraining}[family]
    load_script("pretrain_captioner").main(parent("parent"))
    run = load_script("finetune_captioner").main
    reward = {
        "kind": "alternate",
        "of": [
            DISCRIMINATIVE,
            {
                "kind": "sum",
                "of": [
                    {"weight": 1.0, "reward": {"kind": "cider"}},
                    {"weight": 2.0, "reward": {"kind": "bleu"}},
                    {"weight": 0.1, "reward": {"kind": "fluency"}},
                ],
            },
        ],
    }
    run(self_critical("first", reward, kl=0.1))
    log = read_table("first/training.parquet", TRAINING).to_pandas()
    steps = {name: rows.step.tolist() for name, rows in log.groupby("statistic")}
    assert steps["reward_clip"] == steps["accuracy_clip"] == [1, 3, 5, 7]
    assert steps["reward_cider_sum"] == steps["reward_bleu_sum"] == steps["reward_sum"] == [2, 4, 6]
    assert steps["kl"] == [*range(1, 8)]
    interrupted(lambda: run(self_critical("second", reward, kl=0.1)), SelfCritical, monkeypatch)
    run(self_critical("second", reward, kl=0.1))
    assert content("second") == content("first")


def test_finetuning_by_groups(world, monkeypatch):
    """Three updates on each set of samples; the training is interrupted in the third of the second."""
    load_script("pretrain_captioner").main(pretraining("parent"))
    run = load_script("finetune_captioner").main

    def by_grpo(directory):
        finetuned = finetuning(directory)
        settings = {"samples": 2, "updates": 3, "clip": 0.2, "kl": 0.04}
        drawn = {"kind": "sample", "max_tokens": 6}
        objective = {"kind": "grpo", "reward": DISCRIMINATIVE, "decoding": drawn, **settings}
        finetuned.params["config"]["objective"] = objective
        return finetuned

    run(by_grpo("first"))
    log = read_table("first/training.parquet", TRAINING).to_pandas()
    logged = {name: rows.set_index("step").value for name, rows in log.groupby("statistic")}
    of_samples = {"reward", "accuracy", "advantage_deviation", "caption_length", "distinct"}
    assert of_samples < {*logged}
    for name, values in logged.items():
        assert values.index.tolist() == ([1, 4, 7] if name in of_samples else [*range(1, 8)]), name
    assert logged["kl"][1] == 0
    assert (logged["kl"][2:] > 0).all()
    interrupted(lambda: run(by_grpo("second")), Grpo, monkeypatch)
    run(by_grpo("second"))
    assert content("second") == content("first")


def test_self_critical_finetuning_as_by_reinforce(world):
    """One greedy caption under dropout, weighed as by REINFORCE, and token embeddings that stay."""
    load_script("pretrain_captioner").main(pretraining("parent"))
    parent, _ = load_captioner("parent")
    run = load_script("finetune_captioner").main
    for frozen in (True, False):
        settings = {"samples": 1, "temperature": 1e-3, "log_prob": "mean", "freeze_embeddings": frozen}
        run(self_critical(f"frozen-{frozen}", DISCRIMINATIVE, **settings))
        child, _ = load_captioner(f"frozen-{frozen}")
        assert torch.equal(child.gpt.transformer.wte.weight, parent.gpt.transformer.wte.weight) == frozen
        assert not torch.equal(child.gpt.transformer.wpe.weight, parent.gpt.transformer.wpe.weight)


def test_a_scorer_as_reward(world):
    """The paper's: a scorer's files, and regions of every training image, as the rule gives them."""
    draw = np.random.default_rng(0)
    boxes = np.array([[0, 0, 9, 9], [3, 2, 8, 7]], np.float32)
    write_regions(
        "regions.parquet",
        (ImageRegions(f"image-{i}", 10, 10, boxes, draw.random((2, 5), np.float32)) for i in range(TRAIN)),
    )
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "red", "blue", "ball", *map(str, range(10))]
    Path("vocab.txt").write_text("\n".join(pieces))
    sizes = {"positions": 12, "width": 16, "heads": 2, "layers": 1, "feed_forward": 8}
    torch.manual_seed(5)
    scorer = build_scorer({"family": "uniter", "architecture": sizes, "max_tokens": 12}, "vocab.txt", 5)
    save_scorer(scorer, "scorer")
    load_script("pretrain_captioner").main(newfc_pretraining("parent"))
    asked = self_critical("child", {"kind": "scorer", "scorer": "tiny", "scale": 100.0})
    asked.params["reward_models"] = {"scorers/tiny": {"directory": "scorer", "features": ["regions.parquet"]}}
    load_script("finetune_captioner").main(asked)
    log = read_table("child/training.parquet", TRAINING).to_pandas()
    rewards = log[log.statistic == "reward"].value
    assert len(rewards) == 7
    assert rewards.between(10, 90).all()


def test_finetuning_by_references(world):
    load_script("pretrain_captioner").main(newfc_pretraining("parent"))
    child = newfc_pretraining("child")
    child.rule = "finetune_captioner"
    child.input |= {f"parent_{name}": f"parent/{OUTPUTS[name]}" for name in ("config", "weights", "tokenizer")}
    load_script("finetune_captioner").main(child)
    first, last = (
        read_table(f"{name}/training.parquet", TRAINING).to_pandas().query("statistic == 'loss'").value.iloc[0]
        for name in ("parent", "child")
    )
    assert last < first


def test_a_reward_without_the_captions_it_reads_says_so(world):
    load_script("pretrain_captioner").main(newfc_pretraining("parent"))
    finetuned = self_critical("first", {"kind": "cider"})
    finetuned.input["captions"] = []
    with pytest.raises(ValueError, match="reads references"):
        load_script("finetune_captioner").main(finetuned)


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
    kept = encode_references([["abcdef"]], tokenizer, longest=4, cut_keeps_end=True)
    assert kept == [[[*letters[:3], tokenizer.end]]]
    assert other == [*tokenizer.encode(["xy"])[0], tokenizer.end]


GRID = (4, 5)
READERS_OF_GRIDS = {
    "camel": {"width": 8, "encoder_layers": 1, "decoder_layers": 1, "heads": 1, "head_size": 8, "feed_forward": 8,
              "memory": 2, "meshed": True, "longest": 20},
    "blip": {"width": 8, "layers": 1, "heads": 1, "feed_forward": 8, "positions": 20},
}  # fmt: skip


def write_grids(path: str) -> None:
    """A grid for each image of the world."""
    ids = read_table("images.parquet", IMAGES)["image_id"]
    values = np.random.default_rng(1).standard_normal((len(ids), *GRID))
    kind = embeddings_schema(GRID[0] * GRID[1])
    write_table(path, kind, embedding_rows(ids, values, kind, path), {"shape": list(GRID)})


@pytest.mark.parametrize("family", READERS_OF_GRIDS)
def test_families_that_read_grids(world, monkeypatch, family):
    """From scratch, with a teacher, and by retrieval among hard negatives; nothing is told of the family."""
    write_grids("grids.parquet")
    pretrain = pretraining("parent")
    pretrain.params.config |= {
        "family": family,
        "architecture": {**READERS_OF_GRIDS[family], "vocabulary": 270},
        "objective": {"kind": "cross-entropy", "captions_per_image": 1, "teacher": {"weight": 0.1, "decay": 0.9}},
    }
    pretrain.input["features"] = ["grids.parquet"]
    load_script("pretrain_captioner").main(pretrain)
    parent, tokenizer = load_captioner("parent")
    assert parent.architecture["visual_size"] == GRID[1]
    log = read_table("parent/training.parquet", TRAINING).to_pandas()
    assert {"cross_entropy", "distance"} <= set(log.statistic)
    entropy = log[log.statistic == "cross_entropy"].value
    assert entropy.iloc[-1] < entropy.iloc[0]
    ids = training_images("images.parquet")
    rows, similarities = nearest(load_embeddings(["features-0.parquet", "features-1.parquet"], ids).values, 3)
    write_table("neighbours.parquet", NEIGHBOURS, neighbour_columns(ids, rows, similarities))
    finetune = finetuning("child", reward={**DISCRIMINATIVE, "candidates": 5, "hard_negatives": 2})
    finetune.input["features"] = ["grids.parquet"]
    finetune.params.reward_models["encoders/clip"]["neighbours"] = ["neighbours.parquet"]
    asked = []
    monkeypatch.setattr(Discriminative, "__call__", counting(Discriminative.__call__, asked))
    load_script("finetune_captioner").main(finetune)
    assert all(torch.equal(reward.neighbours, rows[:, :2]) for reward in asked)
    assert asked[0].group == 3
    child, _ = load_captioner("child")
    words = "decoder.word_emb.weight" if family == "camel" else "text_decoder.bert.embeddings.word_embeddings.weight"
    assert not torch.equal(child.state_dict()[words], parent.state_dict()[words])
    decoded = decode(child, torch.randn(2, *GRID), decoding_of("beam", 8, beams=3), tokenizer)
    assert len(tokenizer.decode(decoded.tokens.tolist())) == 2


def counting(original, asked):
    """The same method, noting whose it was."""

    def called(self, *given):
        asked.append(self)
        return original(self, *given)

    return called


def test_validation_without_selection_keeps_the_last_weights(world):
    load_script("pretrain_captioner").main(pretraining("parent"))
    decoding = {"kind": "greedy", "max_tokens": 6}
    weights = {}
    for name, validation in (("plain", None), ("watched", {"split": "test", "every": 3, "decoding": decoding})):
        run = finetuning(name)
        if validation:
            run.params.config["validation"] = {**validation, "select": False}
            run.input["captions"] = ["captions.parquet"]
        load_script("finetune_captioner").main(run)
        weights[name] = Path(name, "model.safetensors").read_bytes()
    assert weights["plain"] == weights["watched"]
    log = read_table("watched/training.parquet", TRAINING).to_pandas()
    assert log[log.statistic == "validation_cider"].step.tolist() == [0, 3, 6]
