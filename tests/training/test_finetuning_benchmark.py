"""The benchmark of discriminative finetuning runs at tiny size, and both ways give the same captions and losses."""

import re
import runpy
from pathlib import Path

import pytest
import torch

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "finetuning.py"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARK.parent)
    return runpy.run_path(str(BENCHMARK))


def test_it_runs(benchmark, capsys):
    benchmark["main"](["--small", "--updates", "1", "--threads", "1", "--batch", "4", "--words", "2", "4"])
    printed = capsys.readouterr().out
    assert "same captions; losses of " in printed
    assert re.search(
        r"batch 4, captions of 2 to 4 words, float32: [\d.]+ updates/s, plain loop [\d.]+: [\d.]+ times", printed
    )
    stages = re.findall(r"^\| ([a-z-]+) \| [\d.]+ \| ([\d.]+) \|", printed, re.MULTILINE)
    assert [name for name, _ in stages] == list(benchmark["STAGES"])
    assert all(float(seconds) > 0 for _, seconds in stages)
    assert "largest cost that remains: " in printed


def test_another_loss_is_an_error(benchmark):
    setting = benchmark["Setting"](small=True, batch=4, words=(2, 4), device="cpu")
    difference, loss = benchmark["check"](setting)
    assert difference <= 1e-5 < abs(loss)
    embed_texts = setting.clip.embed_texts
    setting.clip.embed_texts = lambda captions: embed_texts(captions) + torch.eye(16)[:4]
    with pytest.raises(SystemExit, match="captions are the same; losses differ by"):
        benchmark["check"](setting)


def test_captions_have_the_lengths_that_were_asked_for(benchmark):
    setting = benchmark["Setting"](small=True, batch=4, words=(2, 4), device="cpu")
    tokens = setting.objective(benchmark["Stopwatch"]("cpu"), dropout=True).generate(
        setting.captioner, setting.visual[:4]
    )
    assert ((tokens == setting.end).cumsum(1) == 0).sum(1).tolist() == [2, 3, 4, 2]
    assert len(set(setting.in_words(tokens))) == 4
