"""The family NAME keeps the contract of captioners, and writes a caption for each image."""

from pathlib import Path

from PIL import Image

from captionlab.captioners.writer import ShownImage
from captionlab.config.contract import check_plugin
from captionlab.plugins import family_class, use

use([Path(__file__).parent / "mine"])


def test_it_keeps_the_contract():
    """Check FACTS, models and names."""
    check_plugin("captioners", "NAME")


def test_it_names_the_colour():
    """Check a red and a blue image."""
    images = [ShownImage("toy", colour, Image.new("RGB", (4, 4), colour)) for colour in ("red", "blue")]
    assert family_class("captioners", "NAME")({"start": "all"}).caption(images) == ["all red", "all blue"]
