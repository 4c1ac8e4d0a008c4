"""The benchmarks of self-critical training run at tiny size, and both ways give the same rewards."""

import re
import runpy
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "self_critical.py"


@pytest.fixture(autouse=True)
def beside_it(monkeypatch):
    """What the benchmarks share is found."""
    monkeypatch.syspath_prepend(BENCHMARK.parent)


@pytest.mark.parametrize("family", ["uniter", "rosita", "vilbert", "lxmert", "clip"])
def test_it_runs(family, capsys):
    runpy.run_path(str(BENCHMARK))["main"](["--small", "--updates", "1", "--threads", "1", "--scorers", family])
    printed = capsys.readouterr().out
    assert f"{family}: " in printed
    assert "times as fast; rewards differ by" in printed
    assert printed.count("60 captions (60 distinct") == 2
    assert "limit: the " in printed


SMALL = ["--small", "--updates", "1", "--threads", "1"]


@pytest.fixture
def of_cider():
    return runpy.run_path(str(BENCHMARK.with_name("self_critical_cider.py")))


def test_that_of_cider_runs(of_cider, capsys):
    of_cider["main"](SMALL)
    printed = capsys.readouterr().out
    assert re.search(r"losses of -?[\d.]+ and their rewards differ by [\d.e+-]+ at most", printed)
    assert re.search(r"plain loop: [\d.]+ s of the processors, .*; [\d.]+ and [\d.]+ times ours", printed)


def test_another_reward_is_an_error(of_cider, monkeypatch):
    plain = of_cider["PlainCiderD"]
    score = plain.score
    monkeypatch.setattr(plain, "score", lambda self, image, words: score(self, image, words[1:]))
    with pytest.raises(SystemExit, match="rewards or losses of both ways differ by"):
        of_cider["main"](SMALL)
