"""docs/data.md has a row for every file and folder that the configs of the papers name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
# Keys of a config whose values are files or folders.
PLACES = {"annotations", "images", "files", "weights", "tokenizer", "vocabulary"}


def places(value: Any, named: bool = False) -> Iterator[str]:
    """The files and folders that a part of a config names."""
    if isinstance(value, str) and named:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from places(item, named)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, named or key in PLACES)


@pytest.mark.parametrize("name", ["paper", "paper_variants", "domains"])
def test_every_file_is_described(name):
    config = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8"))
    found = set(places(config))
    assert found
    assert [place for place in sorted(found) if f"`{place}`" not in PAGE and f"`{place}/" not in PAGE] == []
