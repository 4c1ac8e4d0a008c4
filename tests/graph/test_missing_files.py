"""Files that a config names and that are not there are listed before any job starts."""

import copy

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph, check_results
from captionlab.storage.files import read_yaml


def graph_of(tmp_path, *, present=()):
    for name in present:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    language = {"evaluation": "main", "model": {"arpa": "model.arpa"}}
    return Graph({**copy.deepcopy(CONFIG), "data": str(tmp_path), "language": language}, ROOT)


def test_each_is_named_with_its_key_and_none_twice(tmp_path, answers):
    (tmp_path / "mine.json").mkdir()
    with pytest.raises(ConfigError) as raised:
        graph_of(tmp_path).check_files()
    text = str(raised.value)
    mistakes = [line.partition(": ")[2] for line in text.splitlines()[1:]]
    assert len(mistakes) == len(set(mistakes))
    answers.hold("no file of annotations", text, "corpora.photos.annotations")
    answers.hold("nor a folder of images", text, "corpora.photos.images")
    answers.hold("a folder in place of a file of captions", text, "captioners.mine.captions.texts")
    for key in ("corpora.texts.annotations.test", "corpora.photos.annotations", "encoders.clip.weights"):
        assert key in text
    for key in ("regions.butd.files.photos", "regions.detector.weights"):
        assert f"{key}: no such file or folder {tmp_path}/" in text
    assert f"scorers.uniter.vocabulary: no such file {tmp_path}/" in text
    assert f"captioners.mine.captions.texts: {tmp_path}/mine.json is a folder, and a file is wanted" in text
    assert f"language.model.arpa: no such file {tmp_path}/model.arpa" in text
    assert "docs/data.md" in text


def test_each_file_is_named_once_with_all_of_its_keys(tmp_path, answers):
    config = copy.deepcopy(CONFIG)
    config["encoders"]["again"] = config["encoders"]["clip"]
    config["corpora"]["photos"]["images"] = "away"
    with pytest.raises(ConfigError) as raised:
        Graph({**config, "data": str(tmp_path)}, ROOT).check_files()
    lines = str(raised.value).splitlines()[1:]
    keys, names = zip(*(line.removeprefix("  - ").split(": no such ") for line in lines), strict=True)
    assert len({*names}) == len(names)
    assert "encoders.clip.weights, encoders.again.weights" in keys
    assert {"corpora.photos.annotations", "corpora.photos.images"} <= {*keys}  # both at once
    answers.hold("two encoders of one file that is missing", raised.value, "clip.safetensors")


def test_a_model_of_the_hub_is_a_folder(tmp_path, answers):
    captioner = {"family": "transformers", "weights": "git/model.safetensors", "corpus": "world"}
    config = {**CONFIG, "captioners": {**CONFIG["captioners"], "git": captioner}, "data": str(tmp_path)}
    with pytest.raises(ConfigError) as raised:
        Graph(config, ROOT).check_files()
    answers.hold("no folder of a model of the hub", raised.value, "captioners.git.weights")
    (tmp_path / "git").mkdir()
    (tmp_path / "git" / "model.safetensors").write_text("")
    with pytest.raises(ConfigError) as raised:
        Graph(config, ROOT).check_files()
    answers.hold("a file in place of a folder of a model of the hub", raised.value, "captioners.git.weights")


def test_splits_that_do_not_go_together_are_told_when_all_files_are_there(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b.json").write_text("{}")
    corpus = {"reader": "coco", "annotations": {"train": "b.json", "test": "b.json"}, "images": {"train": "a"}}
    config = {"seed": 1, "data": str(tmp_path), "corpora": {"one": corpus}, "captioners": {}, "evaluations": {}}
    with pytest.raises(ConfigError, match=r"corpora\.one\.images: no folder for the split 'test'"):
        Graph(config, ROOT).check_files()


def test_nothing_is_missing_when_all_are_there(tmp_path):
    (tmp_path / "photos").mkdir()
    names = ("refs.json", "photos.json", "clip.safetensors", "mine.json")
    names += ("a.tsv", "b.tsv", "detector.pth", "uniter.pt", "vocab.txt", "tags.tsv", "model.arpa")
    graph_of(tmp_path, present=names).check_files()


def test_a_file_of_several_keys_is_listed_once(tmp_path):
    config = copy.deepcopy(CONFIG)
    config["corpora"]["again"] = config["corpora"]["photos"]
    with pytest.raises(ConfigError) as raised:
        Graph({**config, "data": str(tmp_path)}, ROOT).check_files()
    expected = f"- corpora.photos.annotations, corpora.again.annotations: no such file {tmp_path}/photos.json"
    assert expected in str(raised.value)


def test_a_folder_that_may_not_be_written_is_named(tmp_path, monkeypatch, answers):
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != "results")
    with pytest.raises(ConfigError) as raised:
        check_results()
    answers.hold("a read-only folder for the results", raised.value, "/results may not be written")


def test_what_is_fetched_is_not_missing_and_of_the_rest_it_is_said_what_to_do(tmp_path, answers):
    config = read_yaml(ROOT / "config" / "paper.yaml")
    graph = Graph({**config, "data": str(tmp_path), "retrieve": True}, ROOT)
    with pytest.raises(ConfigError) as raised:
        graph.check_files()
    text = str(raised.value)
    answers.hold("images that need an agreement, with `retrieve: true`", text, "corpora.flickr30k.images")
    for fetched in ("dataset_coco.json", "clip-vit-b-32", "train2014_obj36.tsv", f"no such folder {tmp_path}/coco"):
        assert fetched not in text
    for by_hand in ("nocaps/validation", "resnet101.pth", "train.feature.tsv"):
        assert by_hand in text
    assert {source["name"] for source in graph.fetched()} >= {"karpathy-splits", "clip-vit-b-32", "lxmert-train2014"}
    assert not [*tmp_path.iterdir()]
