"""Snapshots of a training as captioners of their own: `name@2` is `name` after 2 epochs, or updates.

Names of blocks in a config cannot have an @.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from captionlab.config.model import Block

_SIGN = "@"


def training_of(captioner: str) -> str:
    """Return the training of a captioner: the captioner itself, or the training that it is a snapshot of."""
    return captioner.partition(_SIGN)[0]


def with_seed(captioner: str, seed: int) -> str:
    """Return the name of a captioner, or of a snapshot, that is trained with another seed than the first."""
    training, sign, number = captioner.partition(_SIGN)
    return f"{training}-{seed}{sign}{number}"


def with_snapshots(config: Block) -> Block:
    """Return a config in which each snapshot is a captioner: the block of its training with the key `snapshot`.

    The config may have mistakes of any kind.
    """
    captioners = config.get("captioners")
    if not isinstance(captioners, Mapping):
        return config
    found = {
        f"{name}{_SIGN}{number}": {
            **{key: value for key, value in block.items() if key != "snapshots"},
            "snapshot": number,
        }
        for name, block in captioners.items()
        for number in declared_snapshots(block)
    }
    return {**config, "captioners": {**captioners, **found}}


def declared_snapshots(block: Any) -> list[int]:
    """Return the snapshots that the block of a captioner declares; none if the block has mistakes."""
    numbers = block.get("snapshots") if isinstance(block, Mapping) else None
    return [number for number in numbers if isinstance(number, int)] if isinstance(numbers, list) else []


def snapshot_hint(name: str, captioners: Mapping[str, Any]) -> str:
    """Return what to write in place of `name`, a snapshot that is not there; nothing for other names."""
    training, _, number = name.partition(_SIGN)
    if not number or training not in captioners:
        return ""
    if numbers := declared_snapshots(block := captioners[training]):
        return f"{training!r} has snapshots after {', '.join(map(str, numbers))}, and {training!r} itself is the end"
    if isinstance(block, Mapping) and "optimizer" in block:
        return f"{training!r} has no snapshots; list them under captioners.{training}.snapshots, or write {training!r}"
    return f"{training!r} is not trained here, so it has no snapshots; write {training!r}"


def snapshot_mistakes(where: str, block: Block) -> Iterator[str]:
    """Yield one sentence for each mistake in the `snapshots` of a training."""
    numbers, optimizer = block.get("snapshots", []), block["optimizer"]
    unit = "epochs" if "epochs" in optimizer else "steps"
    if numbers != sorted(numbers):
        yield f"{where}.snapshots is {numbers}; write {sorted(numbers)}"
    if late := [number for number in numbers if number >= optimizer[unit]]:
        yield (
            f"{where}.snapshots has {', '.join(map(str, late))}, and optimizer.{unit} is {optimizer[unit]}; snapshots "
            "are taken before the end"
        )
