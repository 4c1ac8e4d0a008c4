"""`./lab data` with a config that cannot be read: one sentence, and 2."""

import pytest

from captionlab.commands.main import main


@pytest.mark.parametrize("text", [None, "a: [", "- a", "a: 1\na: 2"])
def test_a_config_that_cannot_be_read(tmp_path, capsys, text):
    path = tmp_path / "config.yaml"
    if text is not None:
        path.write_text(text)
    assert main(["data", str(path)]) == 2
    answer = capsys.readouterr().err
    assert str(path) in answer
    assert answer.count("\n") == 1
