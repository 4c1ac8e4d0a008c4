"""The benchmark of self-critical training runs at tiny size, and both ways give the same rewards."""

import runpy
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "self_critical.py"


@pytest.fixture(autouse=True)
def beside_it(monkeypatch):
    """Let Python find what benchmarks share."""
    monkeypatch.syspath_prepend(BENCHMARK.parent)


@pytest.mark.parametrize("family", ["uniter", "rosita", "vilbert", "lxmert", "clip"])
def test_it_runs(family, capsys):
    runpy.run_path(str(BENCHMARK))["main"](["--small", "--updates", "1", "--threads", "1", "--scorers", family])
    printed = capsys.readouterr().out
    assert f"{family}: " in printed
    assert "times as fast; rewards differ by" in printed
    assert printed.count("60 captions (60 distinct") == 2
    assert "limit: the " in printed
