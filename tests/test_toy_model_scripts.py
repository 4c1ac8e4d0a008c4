"""A finished run of config/toy_models.yaml: its models are packed, and held against those that come with captionlab."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from support.running import load_script

from captionlab.encoders.clip.encoder import tokenise
from captionlab.encoders.store import load_encoder
from captionlab.storage import paths
from captionlab.storage.schemas import SUMMARY
from captionlab.storage.tables import write_table

ROOT = Path(__file__).parents[1]
MODELS = ROOT / paths.MODELS
CAPTIONS = ["a red car on a beach", "two dogs"]
CARD = """# toy-clip-b

- Licence of the weights: unknown; whoever publishes them names one

From [toy-clip-a](../toy-clip-a/README.md), read by [toy-uniter](../../scorers/toy-uniter/README.md).
"""


@pytest.fixture
def run(tmp_path):
    """A run with one encoder, one scorer and values of both kinds of models."""
    load_encoder(MODELS / "toy-clip-b").save(tmp_path / "results/encoders/toy-clip-b")
    (tmp_path / "results/encoders/toy-clip-b/README.md").write_text(CARD)
    made = {"outputs": {"results/encoders/toy-clip-b/model.safetensors": "1"}, "inputs": {"images.parquet": "c0ffee"}}
    (tmp_path / "results/provenance").mkdir()
    (tmp_path / "results/provenance/toy-clip-b.json").write_text(json.dumps(made))
    scorer = tmp_path / "results/scorers/toy-uniter"
    scorer.mkdir(parents=True)
    shutil.copy(MODELS / "toy-uniter/matching.parquet", scorer)
    return tmp_path


def summarise(run, **values):
    """Write P@1 of these retrievers by human captions, each with an interval of 3 points to either side."""
    columns = {name: [""] * len(values) for name in SUMMARY.columns}
    columns |= {"retriever": [*values], "value": [*values.values()], "seeds": [1] * len(values)}
    columns |= {"captioner": ["human"] * len(values), "candidates": ["100 in file order"] * len(values)}
    columns |= {"metric": ["P@1"] * len(values), "corpus": ["toy-coco-val"] * len(values), "n": [1000] * len(values)}
    columns |= {"ci_low": [v - 3 for v in values.values()], "ci_high": [v + 3 for v in values.values()]}
    write_table(run / paths.reporting("summary.parquet"), SUMMARY, columns)


def test_a_packed_encoder_has_the_same_embeddings_and_a_card(run, tmp_path):
    script, folder = load_script("pack_models"), tmp_path / "packed"
    tokens = {token for ids in tokenise(CAPTIONS, 77) for token in ids} | {0}
    script.pack(run, "encoders", "toy-clip-b", tokens, folder)
    before, after = (load_encoder(of) for of in (run / "results/encoders/toy-clip-b", folder))
    assert torch.equal(before.embed_texts(CAPTIONS), after.embed_texts(CAPTIONS))  # half precision already
    assert (folder / "model.safetensors").stat().st_size < 3e6
    card = (folder / "README.md").read_text()
    assert "captionlab's; all that it learned from was made by captionlab" in card
    assert "](../toy-clip-a/README.md)" in card
    assert "](../toy-uniter/README.md)" in card
    assert "`images.parquet`: `c0ffee`" in card


@pytest.mark.parametrize(("commit", "by"), [("c0ffee+", "differ from those of commit c0ffee;"), ("", "of no commit;")])
def test_a_model_of_changed_files_is_not_packed(run, commit, by):
    weights = "results/encoders/toy-clip-b/model.safetensors"
    made = {"outputs": {weights: "1"}, "inputs": {}, "commit": commit}
    (run / "results/provenance/toy-clip-b.json").write_text(json.dumps(made))
    with pytest.raises(SystemExit, match=rf"{weights} .* {by} commit them and train it again"):
        load_script("pack_models").check_commit(run, "encoders", "toy-clip-b")


def test_models_that_are_alike_and_models_that_are_not(run, capsys):
    script = load_script("compare_models")
    summarise(run, **{"toy-clip-b": 60.0, "shipped-clip-b": 62.0, "shipped-clip-a": 80.0})
    assert script.main([str(run)]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    assert rows[0] == "| toy-clip-b | P@1 | toy-coco-val | 60 [57, 63] | 62 [59, 65] | yes |"
    assert [row.split(" | ")[1:3] for row in rows[1:3]] == [["accuracy", "random"], ["ranking", "random"]]
    summarise(run, **{"toy-clip-b": 60.0, "shipped-clip-b": 64.0})
    assert script.main([str(run)]) == 1
    assert "| no |" in capsys.readouterr().out
