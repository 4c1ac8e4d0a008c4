"""The templates of docs/extending.md, installed and run as they are printed."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from support.plans import plan_in
from support.running import run_script_in
from support.templates import install

from captionlab.captioners.newfc.captioner import NewFC
from captionlab.captioners.store import save_captioner
from captionlab.config.whole import ConfigError
from captionlab.corpora.tables import TABLES
from captionlab.encoders.embeddings import embedding_rows
from captionlab.networks.tokenizer import Tokenizer
from captionlab.storage.schemas import (
    CAPTIONS,
    GENERATED,
    IMAGES,
    SUMMARY,
    TOKENS,
    TRAINING,
    TRAINING_CAPTIONS,
    embeddings_schema,
)
from captionlab.storage.tables import read_table, write_table

FOLDERS = (
    "training/rewards/brevity",
    "corpora/readers/photos",
    "evaluation/metrics/repetition",
    "captioners/gru",
)
OPTIMIZER = {"kind": "adam", "lr": 0.05, "batch": 4, "steps": 60}
TRAINED = {"encoder": "clip", "corpus": "world", "objective": {"kind": "cross-entropy"}, "optimizer": OPTIMIZER}
VALIDATION = {"split": "test", "every": 20, "select": False, "decoding": "greedy"}
FC = {"family": "newfc", "architecture": {"width": 8, "input_width": 6, "min_count": 1}, **TRAINED}
CONFIG = {
    "seed": 1,
    "spice": "off",
    "corpora": {
        "world": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"train": 8, "test": 8}},
        "others": {"reader": "folder", "images": "others"},
    },
    "encoders": {"clip": {"family": "clip", "weights": "clip.pt"}},
    "captioners": {
        "fc": FC,
        "rewarded": {
            "parent": "fc",
            "corpus": "world",
            "objective": {
                "kind": "reinforce",
                "baseline": "none",
                "decoding": "sample",
                "reward": {"kind": "similarity", "retriever": "clip", "candidates": 4},
            },
            "optimizer": OPTIMIZER,
        },
    },
    "decodings": {
        "beam": {"kind": "beam", "beams": 3, "max_tokens": 12},
        "greedy": {"kind": "greedy", "max_tokens": 5},
        "sample": {"kind": "sample", "max_tokens": 5},
    },
    "evaluations": {"main": {"captioners": ["fc", "rewarded"], "corpora": ["world", "others"], "decoding": "beam"}},
}
DIMENSIONS = 6
TEXTS = [f"a {'red' if i % 2 else 'blue'} ball" for i in range(12)]
# A vector of each image, in the precision of tables of features; vectors of even and of odd images differ.
VECTORS = np.random.default_rng(0).standard_normal((12, DIMENSIONS)) + 3 * (np.arange(12)[:, None] % 2)
VECTORS = VECTORS.astype(np.float16).astype(np.float64)


def config(section, **blocks):
    """Return CONFIG with other blocks in a section."""
    return {**CONFIG, section: {**CONFIG[section], **blocks}}


def evaluated(**keys):
    """Return CONFIG with further keys of its evaluation."""
    return config("evaluations", main={**CONFIG["evaluations"]["main"], **keys})


@pytest.fixture
def template(checkout, tmp_path):
    """Install a template and return a function that plans a config with it."""

    def installed(folder):
        install(checkout, folder)
        return lambda asked: plan_in(checkout, asked, tmp_path / "plan")

    return installed


@pytest.fixture
def run(checkout, tmp_path):
    """Run the script of a planned job on these files, and return the folder with its outputs."""

    def run(job, inputs, outputs, **options):
        script = {**options, **job.params, "wildcards": job.wildcards}
        run_script_in(checkout, tmp_path, job.rule, inputs, outputs, **script)
        return tmp_path

    return run


@pytest.fixture
def tables(tmp_path):
    """Return the tables of a corpus of eight training and four test images, with vectors as features."""
    ids = [f"image-{i}" for i in range(12)]
    rows = {name: [None] * len(ids) for name in IMAGES.columns}
    splits = ["train"] * 8 + ["test"] * 4
    rows |= {"image_id": ids, "position": list(range(12)), "split": splits, "width": [1] * 12, "height": [1] * 12}
    write_table(tmp_path / "images.parquet", IMAGES, rows)
    write_table(tmp_path / "captions.parquet", CAPTIONS, {"image_id": ids, "caption_index": [0] * 12, "caption": TEXTS})
    features = tmp_path / "results" / "features" / "clip" / "world" / "0-of-1.parquet"
    features.parent.mkdir(parents=True)
    kind = embeddings_schema(DIMENSIONS)
    write_table(features, kind, embedding_rows(pa.chunked_array([ids]), VECTORS, kind, "e"))
    return {"images": "images.parquet", "captions": ["captions.parquet"], "features": [str(features)]}


def trained(folder):
    """Return the outputs of a training."""
    files = {"config": "config.json", "weights": "model.safetensors", "tokenizer": "tokenizer.json"}
    files |= {"training": "training.parquet", "training_captions": "captions.parquet", "snapshots": "snapshots"}
    return {name: f"{folder}/{file}" for name, file in files.items()}


def test_a_template_that_no_config_asks_for_changes_no_job(checkout, tmp_path):
    before = plan_in(checkout, CONFIG, tmp_path / "plan")
    assert {"read_corpus", "pretrain_captioner", "finetune_captioner", "score_nlg"} <= before.rules()
    for folder in FOLDERS:
        install(checkout, folder)
    assert plan_in(checkout, CONFIG, tmp_path / "plan") == before


def test_the_reward(template, run, tables, tmp_path):
    plan = template("training/rewards/brevity")

    def rewarded(reward):
        block = CONFIG["captioners"]["rewarded"]
        objective = {**block["objective"], "reward": {"kind": "brevity", **reward}}
        return config("captioners", rewarded={**block, "objective": objective, "validation": VALIDATION})

    with pytest.raises(ConfigError, match=r"captioners\.rewarded\.objective\.reward has no key 'wrods'"):
        plan(rewarded({"wrods": 2}))
    job = plan(rewarded({"words": 2})).job("finetune_captioner")
    torch.manual_seed(0)
    captioner, tokenizer = NewFC.for_corpus(["a red ball"], [], DIMENSIONS, FC["architecture"])
    save_captioner(captioner, tokenizer, tmp_path / "parent")
    parent = {f"parent_{name}": trained("parent")[name] for name in ("config", "weights", "tokenizer")}
    folder = run(job, {**tables, **parent, "reward_models": [], "bag_features": []}, trained("child")) / "child"
    rows = read_table(folder / "captions.parquet", TRAINING_CAPTIONS).to_pylist()
    assert len({row["reward"] for row in rows}) > 1
    assert [row["reward"] for row in rows] == [min(0, 2 - len(row["caption"].split())) for row in rows]
    log = read_table(folder / "training.parquet", TRAINING).to_pandas()
    lengths = log[log.statistic == "words"].value
    assert len(lengths) == OPTIMIZER["steps"]
    assert lengths.between(0, 5).all()


def test_the_reader(template, run, tmp_path):
    plan = template("corpora/readers/photos")
    photos = {"reader": "photos", "annotations": "photos.json", "images": "photos"}
    with pytest.raises(ConfigError, match=r"corpora\.others has no key 'imags'; did you mean 'images'"):
        plan(config("corpora", others={**photos, "imags": "photos"}))
    job = plan(config("corpora", others=photos)).job("read_corpus")
    assert job.inputs["annotations"] == [str(tmp_path / "plan" / "data" / "photos.json")]
    records = [
        {"file": "one.png", "split": "train", "captions": ["A red ball.", "A ball."]},
        {"file": "two.png", "split": "test", "captions": ["A blue ball."]},
    ]
    data = tmp_path / "plan" / "data"
    (data / "photos.json").write_text(json.dumps({"photos": records}))
    for size, record in enumerate(records, start=3):
        Image.new("RGB", (size, 2)).save(data / "photos" / record["file"])
    folder = run(job, job.inputs, {name: f"{name}.parquet" for name in TABLES}, threads=1)
    images = read_table(folder / "images.parquet", IMAGES).to_pylist()
    assert [(row["image_id"], row["split"], row["width"]) for row in images] == [
        ("one", "train", 3),
        ("two", "test", 4),
    ]
    captions = read_table(folder / "captions.parquet", CAPTIONS).to_pylist()
    assert [row["caption"] for row in captions] == ["A red ball.", "A ball.", "A blue ball."]
    (data / "photos.json").write_text('{"photos": [{"file": "one.png", "split": "train"}]}')
    with pytest.raises(AssertionError, match=r"photos\[0\] has no field 'captions'"):
        run(job, job.inputs, {name: f"{name}.parquet" for name in TABLES}, threads=1)


def test_the_metric(template, run, tmp_path):
    plan = template("evaluation/metrics/repetition")
    with pytest.raises(ConfigError, match=r"evaluations\.main has no key 'repetitions'.*did you mean 'repetition'"):
        plan(evaluated(repetitions=True))
    planned = plan(evaluated(repetition=True))
    job = planned.job("score_captions", captioner="fc", table="repetition")
    keys = {"corpus": ["world"] * 3, "image_id": ["1", "1", "2"], "caption_index": [0, 1, 0]}
    texts = ["a ball , a red ball", "a dog", ""]
    place = tmp_path / "results" / "evaluation" / "fc" / "main"
    place.mkdir(parents=True)
    write_table(place / "tokens.parquet", TOKENS, {**keys, "tokens": texts})
    written = {**keys, "caption": texts, "log_prob": [None] * 3, "confidence": [None] * 3}
    captions = tmp_path / "results" / "captions" / "fc" / "main.parquet"
    captions.parent.mkdir(parents=True)
    write_table(captions, GENERATED, written)
    scores = "results/evaluation/fc/main/repetition.parquet"
    run(job, {"captions": captions, "tokens": place / "tokens.parquet"}, [scores])
    found = pq.read_table(tmp_path / scores).to_pylist()
    assert [row["repeated"] for row in found] == pytest.approx([2 / 6, 0, 0])
    summary = planned.job("summarise_evaluation")
    assert scores in summary.inputs["repetition"]
    made = {"summary": "summary.parquet", "comparisons": "comparisons.parquet"}
    run(summary, {"repetition": [scores], "captions": ["results/captions/fc/main.parquet"]}, made)
    (row,) = read_table(tmp_path / "summary.parquet", SUMMARY).to_pylist()
    assert (row["metric"], row["n"], row["value"]) == ("repetition", 2, pytest.approx(100 * 2 / 6 / 3))
    assert row["ci_low"] <= row["value"] <= row["ci_high"]


def test_the_family_of_captioners(template, run, tables, tmp_path):
    plan = template("captioners/gru")

    def block(**architecture):
        sizes = {"width": 12, "vocabulary": 265, **architecture}
        return config("captioners", fc={"family": "gru", "architecture": sizes, **TRAINED})

    with pytest.raises(ConfigError, match=r"captioners\.fc\.architecture has no key 'widht'; did you mean 'width'"):
        plan(block(widht=3))
    planned = plan(block())
    folder = run(planned.job("pretrain_captioner"), tables, trained("fc")) / "fc"
    log = read_table(folder / "training.parquet", TRAINING).to_pandas().query("statistic == 'loss'").value
    assert log.iloc[-1] < 0.1 * log.iloc[0]
    model = {name: trained("fc")[name] for name in ("config", "weights", "tokenizer")}
    job = planned.job("generate_captions", captioner="fc")
    job.params.update(corpora=["world"], splits=["test"])
    images = {name: tables[name] for name in ("images", "features")}
    images["images"] = [images["images"]]
    run(job, {**model, **images, "described": [], "ancestors": []}, ["said.parquet"])
    rows = read_table(tmp_path / "said.parquet", GENERATED).to_pylist()
    assert len(rows) == 4
    weights = {name: value.double().numpy() for name, value in load_file(folder / "model.safetensors").items()}
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    assert [row["caption"] for row in rows] == TEXTS[8:]
    for row, vector in zip(rows, VECTORS[8:], strict=True):
        tokens = tokenizer.encode([row["caption"]])[0]
        assert row["log_prob"] == pytest.approx(log_prob(weights, vector, tokens, tokenizer.end), abs=1e-3)


def log_prob(weights, vector, tokens, end):
    """Return the log-probability of a caption, its end included, by the formulas of a GRU."""

    def sigmoid(values):
        return 1 / (1 + np.exp(-values))

    state, total = np.tanh(weights["image.weight"] @ vector + weights["image.bias"]), 0.0
    for last, token in zip([end, *tokens], [*tokens, end], strict=True):
        read = weights["cell.weight_ih"] @ weights["words.weight"][last] + weights["cell.bias_ih"]
        kept = weights["cell.weight_hh"] @ state + weights["cell.bias_hh"]
        (reset, update, new), (reset_h, update_h, new_h) = np.split(read, 3), np.split(kept, 3)
        gate = sigmoid(update + update_h)
        state = (1 - gate) * np.tanh(new + sigmoid(reset + reset_h) * new_h) + gate * state
        logits = weights["output.weight"] @ state + weights["output.bias"]
        total += logits[token] - np.log(np.exp(logits).sum())
    return total
