"""The models of the toy world that come with captionlab: imported by the default config, trained by another one."""

import json
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from snakemake.utils import update_config
from support.running import load_script

from captionlab.captioners.store import load_captioner
from captionlab.config.blocks import KINDS
from captionlab.config.config_files import check_config_files
from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.corpora.toyworld.render import render
from captionlab.encoders.clip.encoder import tokenise
from captionlab.encoders.store import load_encoder
from captionlab.graph.graph import Graph
from captionlab.scorers.store import load_scorer
from captionlab.storage import paths
from captionlab.storage.files import read_yaml
from captionlab.userfiles.model_config import BESIDE, NAME, WEIGHTS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / paths.MODELS
FILES = [ROOT / "config" / name for name in ("config.yaml", "toy_models.yaml")]
PUBLISHED = load_script("pack_models").published()
MEGABYTES = 12


def default(**changed):
    return {**read_yaml(FILES[0]), **changed}


def on_top():
    config = {}
    for file in FILES:
        update_config(config, read_yaml(file))
    check_config_files(config, FILES, {})
    return config


def test_the_default_config_imports_all_of_them_and_they_are_small():
    assert {path.name for path in FOLDER.iterdir()} == {name for _, name in PUBLISHED}
    assert {name for _, name in PUBLISHED} >= {"toy-clip-a", "toy-lxmert", "toy-vinvl"}
    for section, name in PUBLISHED:
        files = {NAME, WEIGHTS, paths.CARD, *BESIDE[section].values()}
        assert {path.name for path in (FOLDER / name).iterdir()} >= files
    assert sum(path.stat().st_size for path in FOLDER.rglob("*")) <= MEGABYTES * 1e6


def test_they_are_whole():
    load = {"encoders": load_encoder, "captioners": load_captioner, "scorers": load_scorer}
    for section, name in PUBLISHED:
        assert load[section](FOLDER / name)
    texts = load_encoder(FOLDER / "toy-clip-a").embed_texts(["a red car on a beach", "a cat"])
    assert torch.isfinite(texts).all()


@pytest.mark.parametrize("encoder", ["toy-clip-a", "toy-clip-b"])
def test_every_word_of_the_toy_world_has_its_row(encoder):
    with safe_open(FOLDER / encoder / WEIGHTS, "pt") as file:
        kept = {*file.get_tensor("token_embedding.weight.kept").tolist()}
    for domain in DOMAINS:
        captions = [text for image in render(domain, 77, {"val": 40}) for text in image.captions]
        assert {token for ids in tokenise(captions, 77) for token in ids} <= kept


def test_they_are_found_wherever_data_is(tmp_path):
    """All other paths start from `data`."""
    config = default(data=str(tmp_path))
    config["captioners"]["mine"] = {"family": "file", "captions": {"toy-coco": "mine.csv"}}
    (tmp_path / "mine.csv").write_text("image_id,caption\n")
    graph = Graph(config, ROOT)
    graph.check_files()
    found = graph.files_of("captioners", "toy-clipcap-coco", "weights", "tokenizer")
    assert found == [str(FOLDER / "toy-clipcap-coco" / name) for name in (WEIGHTS, "tokenizer.json")]
    captions = graph.files_of("captioners", "mine", "captions", corpus="toy-coco")
    assert captions == [str(tmp_path / "mine.csv")]
    matching = graph.examined_scorers()
    assert matching["toy-uniter"] == str(FOLDER / "toy-uniter" / "matching.parquet")
    # What an import depends on does not change with the folder either.
    assert graph.training("toy-clipcap-coco")["weights"] == f"{paths.MODELS}/toy-clipcap-coco/{WEIGHTS}"


def test_null_in_place_of_run_trains_them_again():
    config = on_top()
    for section, name in PUBLISHED:
        assert KINDS[section](default()[section][name] | {"weights": ""}) == "imported"
        assert KINDS[section](config[section][name]) in ("trained", "pretrained")
    graph = Graph(config, ROOT)
    trained = {(model["section"], model["name"]) for model in graph.described_models(trained=True)}
    assert {(section, name) for section, name in trained if name.startswith("toy-")} == {*PUBLISHED}
    names = {model["name"] for model in graph.described_models()}
    assert names >= {name.replace("toy", "shipped") for _, name in PUBLISHED}


def test_a_shipped_model_has_the_sizes_that_the_config_trains():
    config = on_top()
    for section, name in PUBLISHED:
        architecture = config[section][name]["architecture"]
        made = json.loads((FOLDER / name / NAME).read_text())["architecture"]
        assert {key: made[key] for key in architecture if key != "vocabulary"} == {
            key: value for key, value in architecture.items() if key != "vocabulary"
        }
