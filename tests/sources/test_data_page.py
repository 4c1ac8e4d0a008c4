"""resources/sources.yaml has every file and folder that the configs here name, and docs/data.md is made of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from captionlab.sources.page import PAGE, with_tables
from captionlab.sources.table import read_sources, serving

ROOT = Path(__file__).parents[2]
CONFIGS = [
    "paper",
    "paper_variants",
    "paper_oscarplus",
    "domains",
    "flickr8k",
    "coco_scenes",
    "coco_caption",
    "d3",
    "hl",
    "judgements",
]
# Keys of a config whose values are files or folders.
PLACES = {"annotations", "images", "pairs", "instances", "captions", "files", "weights", "tokenizer", "vocabulary"}


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


@pytest.mark.parametrize("name", CONFIGS)
def test_every_file_has_a_source(name):
    config = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8"))
    sections = {
        key: value for key, value in config.items() if key not in ("evaluations", "papers", "language", "study")
    }
    found = {place for place in places(sections) if "/" in place or Path(place).suffix}
    assert found
    assert [place for place in sorted(found) if not serving(read_sources(), [place])] == []


def test_the_page_is_made_of_the_table():
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables(text, read_sources()) == text, "python -m captionlab.sources.page writes it anew"
    for source in read_sources():
        assert all(f"`{place}`" in text for place in source.places)
        assert all(address in text for address in source.addresses)


@pytest.mark.parametrize("source", read_sources(), ids=lambda source: source.name)
def test_a_source_says_what_is_needed(source):
    ways = [bool(source.addresses), bool(source.repository), bool(source.by_hand)]
    assert sum(ways) == 1
    assert source.what
    assert source.licence
    assert bool(source.seen) == bool(source.addresses)
    assert source.bytes is None or source.bytes > 0
    members = [*source.places.values()]
    assert len(members) == 1 or None not in members or source.by_hand
    for place in source.places:
        assert not Path(place).is_absolute()
        assert ".." not in Path(place).parts


def test_no_place_has_two_sources():
    found = [place for source in read_sources() for place in source.places]
    assert len(found) == len({*found})
