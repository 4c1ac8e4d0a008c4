"""A language model made elsewhere takes the place of the one that is trained."""

from pathlib import Path

import pytest
import yaml
from support.small import start


@pytest.mark.slow
def test_no_language_model_is_trained_where_one_is_given(tmp_path):
    config = yaml.safe_load(Path(__file__).with_name("config.yaml").read_text())
    config["data"] = str(tmp_path)
    config["language"]["model"] = {"arpa": "srilm.arpa"}
    (tmp_path / "srilm.arpa").touch()
    output = tmp_path / "output"
    table = "results/language/base/main/measures.parquet"
    assert start(tmp_path / "run", config, "--dry-run", table, output=output).wait() == 0, output.read_text()
    planned = output.read_text()
    assert "measure_language" in planned
    assert "train_language_model" not in planned
