"""Checks of the files of a config before Snakemake merges them: keys that are there twice, and null.

Snakemake itself takes the last of two equal keys, and treats null as a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from snakemake.utils import update_config

from captionlab.config.blocks import Block
from captionlab.config.walking import takes_null
from captionlab.config.whole import ConfigError
from captionlab.storage.files import RepeatedKeyError, read_yaml
from captionlab.userfiles.reading import read_text

_Place = tuple[Any, ...]


def check_config_files(config: Block, files: Sequence[Path], line: Mapping[str, Any]) -> None:
    """Delete from a config the keys that a later file or the command line (`line`) sets to null.

    If null is a value of the key, it stays. Raises ConfigError if a file has a key twice, or if no file has corpora:
    then the files are meant on top of the default config, which was not given.
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
            f"{there}; the default config is not read if files are given; to change it, give config/config.yaml first"
        )


def check_readable(path: Path) -> None:
    """Raise a ValueError, which names file and line, if a config file is no YAML with keys at its top.

    Snakemake names neither.
    """
    try:
        content = yaml.safe_load(read_text(path))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else str(path)
        what = getattr(error, "problem", None) or str(error)
        raise ConfigError(
            f"{where}: this is no YAML: {what}; brackets, quotes and indentation, by spaces, must fit together"
        ) from error
    if not isinstance(content, Mapping):
        found = "is empty" if content is None else f"has a {type(content).__name__} at its top"
        raise ConfigError(f"{path} {found}; a config has keys there, as config/config.yaml has")


def _taken_away(layers: Sequence[Mapping[str, Any]]) -> list[_Place]:
    """Return the places at which a layer has a value and a later layer has null."""
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
    """Return the value at a place of a config, or None if there is no such place."""
    for key in place:
        config = config.get(key) if isinstance(config, Mapping) else None
    return config
