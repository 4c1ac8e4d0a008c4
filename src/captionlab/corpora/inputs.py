"""The files and folders that a corpus of the config names, and whether they are there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.declarations import CorpusReader, declared


class CorpusError(ValueError):
    """A corpus cannot be read as configured; the message says which key, file or entry, and what to do."""


def named_paths(config: Mapping[str, Any], key: str) -> dict[str, str]:
    """What the config gives for a key, per full key: {"images": ...}, {"images.train": ..., ...} or {}."""
    value = config.get(key)
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {f"{key}.{split}": path for split, path in value.items()}
    return {key: value}


def input_files(config: Mapping[str, Any], root: Path) -> list[Path]:
    """The files of annotations that a corpus is read from, those of objects included; none for the toy world."""
    return [root / path for key in _file_keys(config) for path in named_paths(config, key).values()]


def check_inputs(config: Mapping[str, Any], root: Path, name: str) -> None:
    """Raise a CorpusError that names the key when a file, a folder or the folder of a split is not there.

    `root` is the folder that relative paths start from, `name` the corpus in the config.
    """
    if not named_paths(config, "annotations"):
        raise CorpusError(f"corpora.{name}.annotations: this corpus needs the file of its annotations")
    keys = _file_keys(config)
    for file_key in keys:
        for key, path in named_paths(config, file_key).items():
            if not (root / path).is_file():
                raise CorpusError(f"corpora.{name}.{key}: no such file {root / path}")
    for key, path in named_paths(config, "images").items():
        if not (root / path).is_dir():
            raise CorpusError(f"corpora.{name}.{key}: no such folder {root / path}")
    if "images" not in config:
        raise CorpusError(
            f"corpora.{name}.images: give the folder of the images, or `images: null` to use the texts only"
        )
    for key in ("images", *keys):
        if isinstance(config.get(key), Mapping):
            _check_splits(config, key, name)


def _file_keys(config: Mapping[str, Any]) -> tuple[str, ...]:
    reader = declared("corpora.readers", CorpusReader, "read").get(config["reader"])
    return reader.files if reader else ()  # the toy world is no reader


def _check_splits(config: Mapping[str, Any], key: str, name: str) -> None:
    """Every split needs its folder of images; objects may be given for some splits only."""
    splits, given = set(config["annotations"]), set(config[key])
    if key == "images" and (missing := sorted(splits - given)):
        raise CorpusError(f"corpora.{name}.images: no folder for the split {missing[0]!r}, which has annotations")
    if extra := sorted(given - splits):
        raise CorpusError(f"corpora.{name}.{key}.{extra[0]}: annotations have no split {extra[0]!r}")
