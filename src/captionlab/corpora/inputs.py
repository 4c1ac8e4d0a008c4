"""The files and folders that a corpus of the config names, and whether they are there."""

from collections.abc import Iterator, Mapping
from glob import escape, glob
from pathlib import Path
from typing import Any

from captionlab.declarations import CorpusReader, declared
from captionlab.given import absent
from captionlab.sources.table import hub_folder


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
    """The files that a corpus is read from: annotations, those of objects, and tars; none for the toy world.

    Where the names of images are all that is read of a folder, it and the folders in it.
    """
    named = [root / path for key in _file_keys(config) for path in named_paths(config, key).values()]
    named += [tar for key in _pattern_keys(config) for path in config[key].values() for tar in tars(root, path)]
    return named or _contents(config, root)


def folder_of(config: Mapping[str, Any]) -> str:
    """The folder of a corpus whose reader reads what it finds there; a repository of the hub has a place of its own."""
    if "repository" in config:
        return hub_folder(config["repository"], config["revision"])
    return str(config.get("folder", config.get("images")))


def tars(root: Path, pattern: str) -> list[Path]:
    """The tars that a pattern names, by name: itself, those in a folder of this name, or what * and ? stand for."""
    plain = pattern.replace("[", "[[]")  # which glob would take for the start of a choice
    found = [root / pattern] if (root / pattern).exists() else map(Path, glob(str(Path(escape(str(root))) / plain)))
    folders = [sorted(path.glob("*.tar")) if path.is_dir() else [path] for path in sorted(found)]
    # Beside its tars img2dataset leaves tables and statistics.
    return [path for folder in folders for path in folder if path.suffix == ".tar"]


def check_inputs(config: Mapping[str, Any], root: Path, name: str) -> None:
    """Raise a CorpusError that lists what `input_mistakes` finds."""
    if mistakes := list(input_mistakes(config, root, name)):
        raise CorpusError("; ".join(mistakes))


def input_mistakes(config: Mapping[str, Any], root: Path, name: str) -> Iterator[str]:
    """A sentence that names the key for each file, folder or folder of a split that is not there.

    `root` is the folder that relative paths start from, `name` the corpus in the config.
    """
    reader = _reader(config)
    required = reader.required if reader else ()
    if "annotations" in required and not named_paths(config, "annotations"):
        yield f"corpora.{name}.annotations: this corpus needs the file of its annotations"
        return
    keys = (*_file_keys(config), "images")
    for key in keys:
        for full_key, path in named_paths(config, key).items():
            if said := absent(root / path, "folder" if key == "images" else "file"):
                yield f"corpora.{name}.{full_key}: {said}"
    yield from _folder_mistakes(config, root, name)
    for key in _pattern_keys(config):
        for split, pattern in config[key].items():
            if not tars(root, pattern):
                yield f"corpora.{name}.{key}.{split}: no tar {root / pattern}; tars end in .tar and are not compressed"
    if "images" in required and "images" not in config:
        yield f"corpora.{name}.images: give the folder of the images, or `images: null` to use the texts only"
    for key in keys if "annotations" in required else ():
        # Every split needs its folder of images; objects may be given for some splits only.
        splits, given = set(config["annotations"]), config.get(key)
        if isinstance(given, Mapping):
            if key == "images" and (missing := sorted(splits - set(given))):
                yield f"corpora.{name}.images: no folder for the split {missing[0]!r}, which has annotations"
            if extra := sorted(set(given) - splits):
                yield f"corpora.{name}.{key}.{extra[0]}: annotations have no split {extra[0]!r}"


def _folder_mistakes(config: Mapping[str, Any], root: Path, name: str) -> Iterator[str]:
    """What is wrong with the folder of a corpus whose reader reads what it finds there."""
    reader = _reader(config)
    if not reader or not reader.contents or "images" in reader.required:  # then it is checked as theirs
        return
    given = [key for key in ("repository", "folder") if key in config]
    if len(given) != 1 or ("revision" in config) != ("repository" in config):
        yield f"corpora.{name}: give `repository` and its `revision`, or a `folder`"
    elif said := absent(root / folder_of(config), "folder"):
        yield f"corpora.{name}.{given[0]}: {said}"
    elif not _contents(config, root):
        yield f"corpora.{name}.{given[0]}: there is no {reader.contents} in {root / folder_of(config)}"


def _contents(config: Mapping[str, Any], root: Path) -> list[Path]:
    """What a reader reads in its folder, by name, without what is hidden."""
    reader = _reader(config)
    if not reader or not reader.contents:
        return []
    folder = root / folder_of(config)
    found = (path.relative_to(folder) for path in folder.glob(reader.contents))
    return [folder / path for path in sorted(found) if not any(part.startswith(".") for part in path.parts)]


def _file_keys(config: Mapping[str, Any]) -> tuple[str, ...]:
    reader = _reader(config)
    return reader.files if reader else ()


def _pattern_keys(config: Mapping[str, Any]) -> tuple[str, ...]:
    reader = _reader(config)
    return reader.patterns if reader else ()


def _reader(config: Mapping[str, Any]) -> CorpusReader | None:
    """The declaration of the reader of a corpus; the toy world is no reader."""
    return declared("corpora.readers", CorpusReader, "read").get(config["reader"])
