"""Scores under a locale that writes numbers with a comma: METEOR prints and reads numbers through Java."""

import subprocess

import pytest

from captionlab.evaluation.metrics.nlg.metric import meteor_process, score_corpus

LOCALE = "de_DE.utf8"
CAPTIONS = {("image", 0): "a dog rides on the red beach"}
REFERENCES = {"image": ["a red dog is riding on a beach", "dogs near the beach"]}


def score() -> float:
    with meteor_process() as meteor:
        (value,) = score_corpus("base", "toy", CAPTIONS, REFERENCES, meteor)["meteor"]
    return float(value)


def test_meteor_is_equal_under_a_german_locale(monkeypatch):
    locales = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    if LOCALE not in locales:
        pytest.skip(f"the locale {LOCALE} is not installed: localedef --inputfile de_DE --charmap UTF-8 de_DE.UTF-8")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    expected = score()
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert score() == expected
    assert 0 < expected < 1
