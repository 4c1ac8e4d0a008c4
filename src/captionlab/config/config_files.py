"""Checks of the files of a config: files that cannot be read, keys that are there twice, and null.

Snakemake names neither the file nor the place that it cannot read. It takes the last of two equal keys, and treats null
as a value.
"""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from snakemake.utils import update_config

from captionlab.config.blocks import Block
from captionlab.config.walking import takes_null
from captionlab.config.whole import ConfigError
from captionlab.storage.files import RepeatedKeyError, read_yaml

_Place = tuple[Any, ...]


class _Loader(yaml.SafeLoader):
    """Reads YAML as strictly as Snakemake does, and says where a number or date is that does not exist."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Hashable:
        """Return the value of a node. Raises yaml.YAMLError with its place."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError) as error:  # as for !!float without a number
            problem = f"this is no {node.tag.rpartition(':')[2]}: {error}"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from error


def check_readable(path: Path) -> None:
    """Raise ValueError if a file is no config: with the line and column of the mistake, and what to do.

    Call this before Snakemake, which shows a traceback or a message without the name of the file.
    """
    if not path.exists():
        raise ValueError(f"there is no config file {path}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; give a config file in it")
    document = read_document(path)
    if document is None:
        raise ValueError(f"{path} has no keys; write some, such as `seed: 1`, or leave the file out")
    if not isinstance(document, Mapping):
        kind = "list" if isinstance(document, list) else "single value"
        raise ValueError(f"{path} is a {kind}, and not keys with values; write it as in `seed: 1`")


def read_document(path: Path) -> Any:
    """Return the document of a file in JSON or YAML; None if the file is empty.

    Raises ValueError with the line and column of a mistake, and what to do; also if a mapping has a key twice.
    """
    content = path.read_bytes()
    try:
        document = _document(content.decode())
        read_yaml(path)  # keys that are there twice
    except UnicodeDecodeError as error:
        place = _line_and_column(content[: error.start].decode())
        byte = content[error.start]
        raise ValueError(f"{path}, {place}: the byte {byte:#04x} is not UTF-8; save the file as UTF-8") from error
    except yaml.YAMLError as error:
        raise ValueError(f"{path}, {_mistake(content.decode(), error)}") from error
    return document


def _document(text: str) -> Any:
    """Return the document of a text in JSON or else YAML. Raises yaml.YAMLError."""
    with suppress(ValueError):
        return json.loads(text)
    return yaml.load(text, _Loader)


def _mistake(text: str, error: yaml.YAMLError) -> str:
    """Return the place of a mistake in YAML, the mistake and what to do."""
    if isinstance(error, yaml.reader.ReaderError):
        return f"{_line_and_column(text[: error.position])}: a character that YAML does not allow; delete it"
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return str(error)
    mark, start = error.problem_mark, error.context_mark
    context = f"{error.context} of line {start.line + 1}, " if error.context and start else ""
    mistake = f"line {mark.line + 1}, column {mark.column + 1}: {context}{error.problem}"
    if text[mark.index : mark.index + 1] == "\t":
        return f"{mistake}; replace the tab by spaces"
    return f"{mistake}; perhaps a bracket or quote is not closed, or a text needs quotes"


def _line_and_column(text: str) -> str:
    """Return the line and column at which a text ends."""
    *lines, last = text.split("\n")
    return f"line {len(lines) + 1}, column {len(last) + 1}"


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
        except yaml.YAMLError as error:
            raise ConfigError(f"{file}: {' '.join(str(error).split())}") from error
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
