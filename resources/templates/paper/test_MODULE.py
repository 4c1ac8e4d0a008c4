"""The paper NAME keeps the contract of papers, and its published numbers can be read."""

from pathlib import Path

from captionlab.config.contract import check_plugin
from captionlab.plugins import place_of, use
from captionlab.reporting.runs.published import read_published

use([Path(__file__).parent / "mine"])


def test_it_keeps_the_contract():
    """Check files, FACTS and models."""
    check_plugin("papers", "NAME")


def test_the_published_number_is_there():
    """Check the table of published numbers."""
    published = read_published(place_of("papers", "NAME") / "published.csv")
    assert published.find("1", "human", "toy", "CIDEr").value == 101
