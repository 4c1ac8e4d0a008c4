"""The whole config in the folder of a run."""

import errno
from collections import OrderedDict
from pathlib import Path

import pytest
import yaml

from captionlab.config.whole import ConfigError
from captionlab.graph import graph
from captionlab.storage import paths


def test_the_config_can_be_given_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = OrderedDict(
        name="mine", seed=1, lr=1e-5, data=Path("data"), corpora={"coco": {"limit": None, "é": [1, True]}}
    )
    graph.record_config(config)
    written = yaml.safe_load((tmp_path / paths.CONFIG).read_text(encoding="utf-8"))
    assert written == {**config, "data": "data"}
    graph.record_config({"name": "other"})
    assert yaml.safe_load((tmp_path / paths.CONFIG).read_text(encoding="utf-8")) == {"name": "other"}


def test_a_full_disk_is_a_sentence(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ConfigError, match="is full"):
        graph.record_config({"name": "mine"})
