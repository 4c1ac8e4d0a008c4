"""Inputs that earlier versions read wrongly, in shared/data/faults: each has the right answer, or one sentence."""

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from PIL import Image
from support.decodings import decoding_of
from support.records import python_path

from captionlab.captioners.pictures import Pictures
from captionlab.captioners.prompts import Prompter
from captionlab.captioners.store import import_folder, load_captioner
from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.generation.captions import read_caption_file
from captionlab.generation.decoding import decode
from captionlab.jobs.progress import log_counts
from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError
from captionlab.storage.tables import read_table
from captionlab.userfiles.reading import GivenError

ROOT = Path(__file__).parents[2]
CHAT = {"chat": "describe it", "dtype": "float32", "reads": "pixels"}
pytestmark = pytest.mark.slow


@pytest.fixture
def faults(shared_data) -> Path:
    return shared_data / "faults"


@pytest.fixture
def read(tmp_path, faults):
    """Read a corpus of a folder of faults; gives the rows of each table."""
    log_counts()  # those of earlier tests in this process

    def read(folder: str, config: dict) -> dict[str, list[dict]]:
        outputs = {table: tmp_path / f"{table}.parquet" for table in TABLES}
        read_corpus(config, faults / folder, outputs, 1, "mine")
        return {table: read_table(outputs[table], TABLES[table]).to_pylist() for table in TABLES}

    return read


def corpora(folder: Path) -> dict[str, dict]:
    """The corpora of the config in a folder of faults."""
    return yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))["corpora"]


def ids(tables: dict[str, list[dict]]) -> list[str]:
    return [row["image_id"] for row in tables["images"]]


def snakemake(folder: Path, config: dict, *arguments: str) -> subprocess.CompletedProcess:
    """Run the workflow on a config in an empty folder."""
    (folder / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--snakefile", str(ROOT / "Snakefile")]
    command += ["--configfile", str(folder / "config.yaml"), "--directory", str(folder / "run"), *arguments]
    environment = {**os.environ, "PYTHONPATH": python_path(ROOT / "src")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_braces_in_the_name_of_a_folder(tmp_path, faults):
    command = [
        sys.executable,
        "-m",
        "captionlab",
        "try",
        str(faults / "braces/trip {2024}"),
    ]
    command += ["--directory", str(tmp_path), "--", "results/corpora/photographs/images.parquet"]
    environment = {**os.environ, "PYTHONPATH": python_path(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert "has {2024} in its name, which Snakemake takes for a wildcard; rename it" in done.stdout + done.stderr


def test_cider_marked_captions_and_float_ids(tmp_path, faults):
    """One run: intervals of CIDEr stay in its range, VizWiz' marked captions do not count, and whole floats are ids."""
    config = {"name": "faults", "seed": 1, "data": str(faults), "spice": "off", "corpora": {}, "captioners": {}}
    captions: dict[str, dict[str, str]] = {"same": {}, "empty": {}, "mine": {}}
    config["corpora"]["c"] = {"reader": "coco", "annotations": {"test": "cider-interval/caps.json"}, "images": None}
    captions["same"]["c"], captions["empty"]["c"] = "cider-interval/same.json", "cider-interval/empty.json"
    for name, file in (("published", "val.json"), ("kept", "val_kept.json")):
        annotations = {"test": f"vizwiz-rejected/{file}"}
        config["corpora"][name] = {"reader": "coco", "annotations": annotations, "images": None}
        captions["mine"][name] = "vizwiz-rejected/res.json"
    config["corpora"]["floats"] = {"reader": "huggingface", "folder": "float-ids/set", "image_id": "cocoid"}
    captions["mine"]["floats"] = "float-ids/res.json"
    config["captioners"] = {name: {"family": "file", "captions": files} for name, files in captions.items()}
    config["evaluations"] = {
        "cider": {"captioners": ["same", "empty"], "corpora": ["c"]},
        "mine": {"captioners": ["mine"], "corpora": ["published", "kept", "floats"]},
    }
    done = snakemake(tmp_path, config, "results/tables/evaluation.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pd.read_csv(tmp_path / "run/results/tables/evaluation.csv")
    cider = rows[rows["metric"] == "CIDEr"].set_index(["captioner", "corpus"])
    assert cider.loc[("same", "c"), "ci_high"] == pytest.approx(1000)
    bleu = rows[(rows["metric"] == "BLEU@4") & (rows["captioner"] == "empty")]
    assert cider.loc[("empty", "c"), "ci_high"] == pytest.approx(
        10 * float(bleu["ci_high"].iloc[0])
    )  # both in their range
    assert cider.loc[("mine", "published"), "value"] == pytest.approx(405.5, abs=0.1)
    assert cider.loc[("mine", "kept"), "value"] == cider.loc[("mine", "published"), "value"]
    assert ("mine", "floats") in cider.index


def test_several_ends_of_a_caption(tmp_path, faults):
    folder = faults / "eos-list/model"
    import_folder("transformers", folder, tmp_path, CHAT)
    captioner, tokenizer = load_captioner(tmp_path)
    pixels = np.random.default_rng(0)
    images = [Image.fromarray(pixels.integers(0, 255, (48, 64, 3), dtype=np.uint8)) for _ in range(8)]
    prompter = Prompter(hub.read_folder(folder)[1], captioner.architecture["block"], "decoder")
    decoded = decode(captioner, Pictures(images, prompter, torch.device("cpu")), decoding_of("greedy", 8), tokenizer)
    ends = json.loads((folder / "generation_config.json").read_text())["eos_token_id"]
    assert set(captioner.ends) == set(ends)
    assert decoded.lengths.tolist() == [1] * 8  # the end alone: the captions are empty
    assert {row[0] for row in decoded.tokens.tolist()} <= set(ends)


def test_whole_floats_are_ids(read, faults):
    (config,) = corpora(faults / "float-ids").values()
    assert ids(read("float-ids", config)) == ["391895", "522418"]
    assert [image for image, _, _ in read_caption_file(faults / "float-ids/res.json")] == ["391895", "522418"]


def test_a_compressed_file(read):
    with pytest.raises((CorpusError, GivenError), match=r"a\.json\.gz.* compressed.*unpack"):
        read("gz", {"reader": "karpathy", "annotations": "a.json.gz", "images": None})


@pytest.mark.parametrize(("name", "message"), [("lfs", "lfs"), ("nochat", "chat template")])
def test_folders_of_the_hub_that_cannot_be_read(tmp_path, faults, name, message):
    with pytest.raises(CheckpointError, match=message):
        import_folder("transformers", faults / "hub-bad-folders" / name, tmp_path, CHAT)


def test_file_names_that_two_splits_share(read, faults):
    (config,) = corpora(faults / "hub-same-file-names").values()
    with pytest.raises(CorpusError, match=r"set corpora\.mine\.split_in_id: true"):
        read("hub-same-file-names", config)
    tables = read("hub-same-file-names", config | {"split_in_id": True})
    assert [row["split"] for row in tables["images"]] == ["test"] * 3 + ["train"] * 3


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cocoid", ["a", "b"]),
        ("filepath", ["a", "b"]),
        ("floatid", ["391895", "391896"]),
        ("nested", ["airport/1", "beach/1"]),
    ],
)
def test_null_and_float_ids_of_karpathy(read, faults, name, expected):
    assert ids(read("karpathy-null", corpora(faults / "karpathy-null")[name])) == expected


def test_lists_as_texts(read, caplog):
    with caplog.at_level(logging.INFO):
        tables = read("list-as-text", {"reader": "folder", "images": "img", "captions": "caps.csv"})
        log_counts()
    assert [(row["image_id"], row["caption"]) for row in tables["captions"]] == [
        ("a", "A dog runs ."), ("a", "It's a dog ."), ("b", "A cat ."), ("b", "The cat ."),
    ]  # fmt: skip
    assert "captions that are lists written as text, read as lists of captions: 2" in caplog.messages


def test_photographs_of_a_phone(read):
    """The HEIC files there are only their beginnings. HEIC is read, so they are broken images, and named as such."""
    config = {"reader": "folder", "images": "photos"}
    with pytest.raises(CorpusError, match=r"3 of 8 images .*3 broken.*IMG_3\.HEIC"):
        read("phone-folder", config)
    tables = read("phone-folder", config | {"max_rejected": 0.5})
    assert ids(tables) == [f"IMG_{number}" for number in (0, 1, 2, 6, 7)]


def test_an_open_quote(read, faults, tmp_path):
    for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    (tmp_path / "caps.tsv").write_bytes((faults / "tsv-open-quote/caps.tsv").read_bytes())
    config = {"reader": "folder", "images": str(tmp_path), "captions": str(tmp_path / "caps.tsv")}
    with pytest.raises((CorpusError, GivenError), match=r"caps\.tsv, line 2"):
        read("tsv-open-quote", config)
