"""The reader NAME keeps the contract of readers, and reads the file beside this test."""

from pathlib import Path

from captionlab.config.contract import check_plugin
from captionlab.plugins import defined, use

FOLDER = Path(__file__).parent
use([FOLDER / "mine"])


def test_it_keeps_the_contract():
    """Check FACTS, models and names."""
    check_plugin("corpora.readers", "NAME")


def test_it_reads_the_images_of_a_file():
    """Check ids and captions."""
    config = {"annotations": "photos.json", "images": "."}
    entries = [*defined("corpora.readers", "NAME", "read")(config, FOLDER / "NAME_data")]
    assert [entry.image_id for entry in entries] == ["red", "green", "blue", "white"]
    assert entries[0].captions[0] == "a red square"
