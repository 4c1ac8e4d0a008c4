"""Blocks of a config that a value names, directly or through other blocks."""

from collections.abc import Iterable, Iterator
from typing import Any

from captionlab.config import walking
from captionlab.config.blocks import JUDGED, Block
from captionlab.config.papers import listed
from captionlab.config.snapshots import training_of
from captionlab.config.walking import ValueType

# A block of a config: its section and its name.
Named = tuple[str, str]


def named(block: Any, part: ValueType) -> list[Named]:
    """Return the section and name of each block that a value names. `part` is the type of the value."""
    found: list[Named] = []

    def note(section: str, names: Any, every: bool) -> Any:
        found.extend((section, name) for name in listed(names))
        return names

    walking.renamed(part, block, note)
    return found


def measurements(config: Block) -> Iterator[list[Named]]:
    """Yield what each block of a config names that measures models on corpora; sets of judgements are evaluations."""
    for name, block in config["evaluations"].items():
        yield named(block, walking.section("evaluations").under(name))
    for name in ("study", "scene_analysis"):
        if block := config.get(name):
            yield named(block, walking.root().under(name))


def reached(config: Block, start: Iterable[Named]) -> set[Named]:
    """Return blocks of a checked config, and all blocks that they name, directly or through other blocks.

    Captioners and corpora of judged captions are left out.
    """
    found: set[Named] = set()
    ahead = [*start]
    while ahead:
        section, name = ahead.pop()
        block = config.get(section, {}).get(name)
        if (section, name) in found or block is None or block.get("family", block.get("reader")) == JUDGED:
            continue
        found.add((section, name))
        ahead += [(section, training_of(name))] if "snapshot" in block else []
        # A set of questions may be about more corpora than the evaluation or training that asks it reads.
        others = named(block, walking.section(section).under(name))
        ahead += [other for other in others if section != "questions" or other[0] != "corpora"]
    return found
