"""Files that a config names and that are not there are listed before any job starts."""

import pytest
from test_config import CONFIG, ROOT

from captionlab.workflow.config import ConfigError
from captionlab.workflow.experiments import Experiments


def experiments(tmp_path, *, present=()):
    for name in present:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    language = {"evaluation": "main", "model": {"arpa": "model.arpa"}}
    return Experiments({**CONFIG, "data": str(tmp_path), "language": language}, ROOT)


def test_each_is_named_with_its_key(tmp_path):
    with pytest.raises(ConfigError) as raised:
        experiments(tmp_path).check_files()
    text = str(raised.value)
    for key in ("corpora.texts.annotations.test", "corpora.photos.annotations", "encoders.clip.weights"):
        assert key in text
    for key in ("regions.butd.files.photos", "regions.detector.weights", "scorers.uniter.vocabulary"):
        assert f"{key}: no such file or folder {tmp_path}/" in text
    assert f"captioners.mine.captions.texts: no such file {tmp_path}/mine.json" in text
    assert f"language.model.arpa: no such file {tmp_path}/model.arpa" in text
    assert "docs/data.md" in text


def test_nothing_is_missing_when_all_are_there(tmp_path):
    (tmp_path / "photos").mkdir()
    names = ("refs.json", "photos.json", "clip.safetensors", "mine.json")
    names += ("a.tsv", "b.tsv", "detector.pth", "uniter.pt", "vocab.txt", "tags.tsv", "model.arpa")
    experiments(tmp_path, present=names).check_files()
