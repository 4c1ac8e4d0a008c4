"""The files of a config, of which Snakemake takes the last of two equal keys, and null for a value as any other."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snakemake.utils import update_config

from captionlab.config.blocks import Block
from captionlab.config.walking import takes_null
from captionlab.config.whole import ConfigError
from captionlab.storage.files import RepeatedKeyError, read_yaml

_Place = tuple[Any, ...]


def check_config_files(config: Block, files: Sequence[Path], line: Mapping[str, Any]) -> None:
    """Take out of a config what a later file or the command line (`line`) takes away from the files before it by null.

    Where null is a value of the key, it stays. ConfigError lists the files that have a key twice, or says that none of
    those that are given has corpora: then somebody meant another config than the default.
    """
    layers, twice = [], []
    for file in files:
        try:
            layers.append(read_yaml(file))
        except RepeatedKeyError as error:
            twice.append(str(error))
    if twice:
        raise ConfigError.listing("the config has keys twice", twice)
    for *parents, key in _taken_away([*layers, line]):
        block = _at(config, parents)
        is_null = isinstance(block, dict) and key in block and block[key] is None
        if is_null and not takes_null(config, (*parents, key)):
            del block[key]
    if files and "corpora" not in config:
        there = f"there is no section `corpora` in {' and '.join(map(str, files))}, but {', '.join(map(str, config))}"
        raise ConfigError(
            f"{there}; what is given stands alone, so give config/config.yaml before it to put it on top of the default"
        )


def _taken_away(layers: Sequence[Mapping[str, Any]]) -> list[_Place]:
    """Places that one layer has a value at and a later one null."""
    below: Block = {}
    found: dict[_Place, None] = {}
    for layer in layers:
        found |= {place: None for place in _nulls(layer) if _at(below, place) is not None}
        update_config(below, layer)
    return list(found)


def _nulls(layer: Mapping[str, Any], where: _Place = ()) -> Iterator[_Place]:
    for key, value in layer.items():
        if value is None:
            yield (*where, key)
        elif isinstance(value, Mapping):
            yield from _nulls(value, (*where, key))


def _at(config: Any, place: Sequence[Any]) -> Any:
    """What stands at a place of a config; None where nothing does."""
    for key in place:
        config = config.get(key) if isinstance(config, Mapping) else None
    return config
