"""Blocks with `seeds`, the trainings that they stand for, and references to them.

The first training has the name of the block, so that adding seeds to a block does not rerun its training. The names of
the other trainings end in their seeds. If `Ref` has `trainings`, the name of a block with seeds means all of its
trainings. Otherwise it means the training of the same seed in a block with seeds, and the first training elsewhere.
"""

from collections.abc import Iterator
from typing import Any

from captionlab.config import walking
from captionlab.config.blocks import MODEL_SECTIONS, Block, without
from captionlab.config.papers import listed
from captionlab.config.snapshots import with_seed
from captionlab.config.walking import ValueType


def trainings(config: Block, section: str) -> dict[str, list[str]]:
    """Return the trainings of each block with seeds in a section; the first has the name of the block."""
    return {
        name: [name, *(with_seed(name, seed) for seed in block["seeds"][1:])]
        for name, block in config.get(section, {}).items()
        if "seeds" in block
    }


def seeds_mistakes(config: Block) -> Iterator[str]:
    """Yield one sentence for each training whose name is taken, or that needs another block with its seed."""
    for section in MODEL_SECTIONS:
        for name, names in trainings(config, section).items():
            if "snapshot" in config[section][name]:
                continue  # The mistakes of a snapshot are reported for its training.
            for training in set(names[1:]) & config[section].keys():
                taken = f"{section}.{name}.seeds makes {training!r}, which is in {section} already"
                yield f"{taken}; rename {section}.{training}"
            yield from _unpaired(config, section, name)


def _unpaired(config: Block, section: str, name: str) -> Iterator[str]:
    block, named = config[section][name], list[tuple[str, str]]()

    def note(of: str, names: Any, every: bool) -> Any:
        if not every and of in MODEL_SECTIONS:
            named.extend((of, one) for one in listed(names))
        return names

    walking.renamed(walking.section(section).under(name), block, note)
    for of, other in named:
        if absent := [*{*block["seeds"]} - {*config[of][other].get("seeds", block["seeds"])}]:
            yield (
                f"{section}.{name} has the seed {min(absent)}, and {of}.{other}, which it names, has other seeds; "
                "give both the same"
            )


def spelled_out(config: Block) -> Block:
    """Return a config in which each block with seeds is replaced by its trainings.

    The config must have all defaults, and `seeds_mistakes` must have found nothing.
    """
    of_blocks = {section: trainings(config, section) for section in MODEL_SECTIONS}

    def renamed(value: Any, part: ValueType, seed: int | None = None) -> Any:
        def rename(section: str, names: Any, every: bool) -> Any:
            found = []
            for name in listed(names):
                several = of_blocks.get(section, {}).get(name, [name])
                seeds = config[section][name]["seeds"] if len(several) > 1 else []
                found += several if every else [several[seeds.index(seed) if seed in seeds else 0]]
            return found if isinstance(names, list) or len(found) > 1 else found[0]

        return walking.renamed(part, value, rename)

    whole = {
        key: renamed(content, walking.section(key)) for key, content in config.items() if key not in MODEL_SECTIONS
    }
    for section in MODEL_SECTIONS:
        part, whole[section] = walking.section(section).under(""), {}
        for name, block in config[section].items():
            if "seeds" not in block:
                whole[section][name] = renamed(block, part)
                continue
            for training, seed in zip(of_blocks[section][name], block["seeds"], strict=True):
                whole[section][training] = renamed({**without(block, "seeds"), "seed": seed}, part, seed)
    return whole
