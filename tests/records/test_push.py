"""Captioners and captions on a model hub: what is sent, with which card, and what is said if it is not sent."""

import json

import pytest
from huggingface_hub import DatasetCard, ModelCard
from support.hub_server import TOKEN, hub
from support.recorded_run import CAPTION, IMAGE, REFERENCE, recorded_run

from captionlab.commands.main import main
from captionlab.records.shipments import captioner_shipment, captions_shipment
from captionlab.storage import paths


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return recorded_run(tmp_path_factory.mktemp("recorded"))


def push(*arguments):
    return main(["push", *map(str, arguments)])


def test_a_captioner_is_sent_with_its_card(run, monkeypatch, capsys):
    with hub(monkeypatch) as server:
        assert push(run, "--captioner", "mine", "--to", "me/mine") == 0
        files = server.files["models/me/mine"]
        assert server.visibility == {"models/me/mine": "private"}
    assert files.keys() == {"README.md", "config.json", "model.safetensors", "tokenizer.json"}
    assert files["model.safetensors"] == b"weights"
    card = ModelCard(files["README.md"].decode())
    assert card.data.tags == ["captionlab", "captioner"]
    assert "Finetuned from base." in card.text  # its card is not sent
    assert "hf download me/mine --local-dir FOLDER" in card.text
    assert b"home of ada" not in b"".join(files.values())
    printed = capsys.readouterr().out
    assert f"{server.address}/models/me/mine/commit/" in printed
    assert TOKEN not in printed


def test_captions_are_sent_without_references_and_images(run, monkeypatch):
    with hub(monkeypatch) as server:
        assert push(run, "--captions", "main", "--to", "me/captions", "--public") == 0
        assert server.visibility == {"datasets/me/captions": "public"}
        files = server.files["datasets/me/captions"]
        assert push(run, "--captions", "main", "--to", "me/captions") == 0  # once more, into what is there
        assert server.visibility == {"datasets/me/captions": "public"}
    assert files.keys() == {"README.md", "mine.parquet"}
    whole = b"".join(files.values())
    assert CAPTION.encode() in whole
    assert REFERENCE.encode() not in whole
    assert IMAGE not in whole


def test_the_card_of_captions_says_how_they_came_about(run):
    card = DatasetCard(captions_shipment(run, "main").card)
    data = card.data.to_dict()
    assert data["configs"][0]["data_files"] == [{"split": "captions", "path": "mine.parquet"}]
    assert "license" not in data
    assert "toy" not in data["tags"]
    assert '| mine | coco | 1 | `{"kind": "greedy"}` | 1 | 0123456789ab | CPU (x86_64) |' in card.text
    assert "| mine | coco, test | CIDEr |  | 50.00 | [49.00, 51.00] | 500 |" in card.text
    assert "Licence: not stated" in card.text
    assert REFERENCE not in card.text


def test_captions_of_drawings_are_called_toy(tmp_path):
    run = recorded_run(tmp_path)
    config = (run / paths.CONFIG).read_text().replace("reader: karpathy", "reader: toyworld")
    (run / paths.CONFIG).write_text(config)
    card = DatasetCard(captions_shipment(run, "main").card)
    assert "toy" in card.data.tags
    assert "drawings of a toy world" in card.text


@pytest.mark.parametrize(
    ("name", "config", "library", "line"),
    [
        ("config.json", {"architectures": ["BlipForCausal"]}, "transformers", 'BlipForCausal.from_pretrained("me/x")'),
        (
            "adapter_config.json",
            {"peft_type": "LORA", "base_model_name_or_path": "base"},
            "peft",
            'PeftModel.from_pretrained(parent, "me/x")',
        ),
    ],
)
def test_an_exported_captioner_is_sent_as_other_libraries_read_it(tmp_path, name, config, library, line):
    run = recorded_run(tmp_path)
    exported = run / paths.export(captioner="mine")
    exported.mkdir(parents=True)
    (exported / name).write_text(json.dumps(config))
    (exported / ".snakemake_timestamp").touch()
    shipment = captioner_shipment(run, "mine", "me/x")
    assert shipment.files.keys() == {"README.md", name}
    card = ModelCard(shipment.card)
    assert card.data.library_name == library
    assert line in card.text
    assert "FOLDER" not in card.text
    assert "## How to cite it" in card.text


def test_a_dry_run_needs_no_network_and_no_token(run, monkeypatch, capsys):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    assert push(run, "--captioner", "mine", "--to", "me/mine", "--dry-run") == 0
    printed = capsys.readouterr().out
    assert "             7 bytes  model.safetensors" in printed
    assert "## How to load it" in printed


def test_what_cannot_be_sent_is_said(monkeypatch, answers, capsys, tmp_path):
    run = recorded_run(tmp_path)

    def said(*arguments):
        assert push(*arguments) == 1
        return capsys.readouterr().err

    answers.hold("`--captioner` that is none", said(run, "--captioner", "nobody", "--to", "me/x"), "nobody")
    answers.hold("`--captions` that nobody generated", said(run, "--captions", "other", "--to", "me/x"), "other")
    answers.hold("`--to` without a user", said(run, "--captioner", "mine", "--to", "x"), "USER/NAME")
    answers.hold("`--to` that no hub knows as a name", said(run, "--captioner", "mine", "--to", "me/a b"), "me/a b")
    for given, token, to, names in (
        ("no token", None, "me/x", "HF_TOKEN"),
        ("a token that is not valid", "hf_wrong", "me/x", "answered 401"),
        ("a repository of others", TOKEN, "others/x", "answered 403"),
    ):
        with hub(monkeypatch, token) as server:
            message = said(run, "--captioner", "mine", "--to", to).replace(server.address, "HUB")
        answers.hold(given, message, names)
        assert "hf_" not in message
    with hub(monkeypatch) as server:
        server.too_large = 5
        message = said(run, "--captioner", "mine", "--to", "me/x").replace(server.address, "HUB")
    answers.hold("a file that is too large", message, "answered 413")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    answers.hold("no network", said(run, "--captioner", "mine", "--to", "me/x"), "127.0.0.1:9")
    (run / paths.captioner("README.md", captioner="mine")).unlink()
    answers.hold("a captioner that was imported", said(run, "--captioner", "mine", "--to", "me/x"), "no model card")
