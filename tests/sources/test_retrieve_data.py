"""`./lab data` with a config that cannot be read: one sentence, and 2."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "workflow" / "scripts" / "retrieve_data.py"


@pytest.mark.parametrize("text", [None, "a: [", "- a", "a: 1\na: 2"])
def test_a_config_that_cannot_be_read(tmp_path, text):
    path = tmp_path / "config.yaml"
    if text is not None:
        path.write_text(text)
    done = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{path} cannot be read as a config: ")
    assert done.stderr.count("\n") == 1
