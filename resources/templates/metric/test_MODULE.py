"""The metric NAME keeps the contract of metrics, and measures what repeats."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from captionlab.config.contract import check_plugin
from captionlab.plugins import defined, use

use([Path(__file__).parent / "mine"])


def test_it_keeps_the_contract():
    """Check FACTS, models and names."""
    check_plugin("evaluation.metrics", "NAME")


def test_repeated_words_are_measured():
    """Check captions with and without words that repeat."""
    tokens = {("1", 0): "a ball , a red ball", ("1", 1): "a dog", ("2", 0): ""}
    (columns,) = defined("evaluation.metrics", "NAME", "score")(SimpleNamespace(tokens={"toy": tokens}))
    assert columns["repeated"] == pytest.approx([2 / 6, 0, 0])
