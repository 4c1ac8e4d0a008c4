"""The files and folders that a corpus of the config names, and checks that they exist."""

from collections.abc import Iterator, Mapping
from glob import escape, glob
from pathlib import Path
from typing import Any

from captionlab.config.corpora import CorpusFacts
from captionlab.plugins import config_module, facts
from captionlab.sources.table import hub_folder
from captionlab.userfiles.reading import absent, unusual


class CorpusError(ValueError):
    """A corpus cannot be read as configured; the message names the key, file or entry and states what to do."""


def named_paths(config: Mapping[str, Any], key: str) -> dict[str, str]:
    """Return the paths of a key of the config, by full key: {"images": ...}, {"images.train": ..., ...} or {}.

    A split may have several files: {"annotations.train.0": ..., "annotations.train.1": ...}.
    """
    value = config.get(key)
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {
            full: path
            for split, given in value.items()
            for full, path in (
                [(f"{key}.{split}.{number}", path) for number, path in enumerate(given)]
                if isinstance(given, list)
                else [(f"{key}.{split}", given)]
            )
        }
    return {key: value}


def input_files(config: Mapping[str, Any], root: Path) -> list[Path]:
    """Return the input files of a corpus: annotations, object annotations and tars.

    If the reader reads the contents of a folder instead, the matching files of the folder are returned, or the folder
    and its subfolders if only the names of images are read. The list is empty for the toy world.
    """
    named = [root / path for key in _file_keys(config) for path in named_paths(config, key).values()]
    named += [tar for key in _pattern_keys(config) for path in config[key].values() for tar in tars(root, path)]
    return named or _contents(config, root)


def folder_of(config: Mapping[str, Any]) -> str:
    """Return the folder whose contents a reader reads; for a repository of the hub this is its download folder."""
    if "repository" in config:
        return hub_folder(config["repository"], config["revision"])
    return str(config.get("folder", config.get("images")))


def tars(root: Path, pattern: str) -> list[Path]:
    """Return the tars that a pattern matches, sorted by name.

    The pattern is a tar, a folder of tars, or a path with * and ? as wildcards.
    """
    return [path for path in _files(root, pattern) if path.suffix == ".tar"]


def files_beside_tars(root: Path, pattern: str) -> list[Path]:
    """Return the files that a pattern of tars matches and that are no tars, without hidden files.

    They are tables and statistics that img2dataset writes beside its tars, or compressed tars, which are not read.
    """
    beside = [path for path in _files(root, pattern) if path.suffix != ".tar" and not path.name.startswith(".")]
    return [path for path in beside if path.is_file()]


def _files(root: Path, pattern: str) -> list[Path]:
    """Return the files that a pattern matches and the files in folders that it matches, sorted by name."""
    plain = pattern.replace("[", "[[]")  # glob would read [ as the start of a character set
    found = [root / pattern] if (root / pattern).exists() else map(Path, glob(str(Path(escape(str(root))) / plain)))
    return [path for place in sorted(found) for path in (sorted(place.iterdir()) if place.is_dir() else [place])]


def check_inputs(config: Mapping[str, Any], root: Path, name: str) -> None:
    """Raise a CorpusError that lists all sentences of `input_mistakes`, if there are any."""
    if mistakes := list(input_mistakes(config, root, name)):
        raise CorpusError("; ".join(mistakes))


def input_mistakes(config: Mapping[str, Any], root: Path, name: str) -> Iterator[str]:
    """Yield a sentence for each missing file or folder, each split without images, and each input no rule can read.

    `root` is the folder that relative paths start from, `name` is the name of the corpus in the config.
    """
    mistakes = [*_missing_inputs(config, root, name)]
    yield from mistakes or (f"corpora.{name}: {text}" for text in map(unusual, input_files(config, root)) if text)


def _missing_inputs(config: Mapping[str, Any], root: Path, name: str) -> Iterator[str]:
    """Yield a sentence that names the key for each missing file or folder and for each split without images."""
    required = _required(config)
    if "annotations" in required and not named_paths(config, "annotations"):
        yield f"corpora.{name}.annotations: this corpus needs the file of its annotations"
        return
    files = _file_keys(config)
    keys = (*files, *_folder_keys(config), "images")
    for key in keys:
        for full_key, path in named_paths(config, key).items():
            if said := absent(root / path, "file" if key in files else "folder"):
                yield f"corpora.{name}.{full_key}: {said}"
    yield from _folder_mistakes(config, root, name)
    for key in _pattern_keys(config):
        for split, pattern in config[key].items():
            if not tars(root, pattern):
                yield f"corpora.{name}.{key}.{split}: {no_tars(root / pattern)}"
    if "images" in required and "images" not in config:
        yield f"corpora.{name}.images: give the folder of the images, or `images: null` to use the texts only"
    for key in keys if isinstance(config.get("annotations"), Mapping) else ():
        # Every split needs a folder of images. Objects are optional per split.
        splits, given = set(config["annotations"]), config.get(key)
        if isinstance(given, Mapping):
            if key == "images" and (missing := sorted(splits - set(given))):
                yield f"corpora.{name}.images: no folder for the split {missing[0]!r}, which has annotations"
            if extra := sorted(set(given) - splits):
                yield f"corpora.{name}.{key}.{extra[0]}: annotations have no split {extra[0]!r}"


def no_tars(path: Path) -> str:
    """Return what is wrong with a pattern that no tar matches."""
    return f"no tar {path}; tars end in .tar and are not compressed"


def _folder_mistakes(config: Mapping[str, Any], root: Path, name: str) -> Iterator[str]:
    """Yield a sentence for each mistake in the folder of a corpus whose reader reads the contents of a folder."""
    reader = _reader(config)
    if not reader or not reader.contents or "images" in _required(config):  # `images` is checked by the caller
        return
    given = [key for key in ("repository", "folder") if key in config]
    if len(given) != 1 or ("revision" in config) != ("repository" in config):
        yield f"corpora.{name}: give `repository` and its `revision`, or a `folder`"
    elif said := absent(root / folder_of(config), "folder"):
        yield f"corpora.{name}.{given[0]}: {said}"
    elif not _contents(config, root):
        yield f"corpora.{name}.{given[0]}: there is no {reader.contents} in {root / folder_of(config)}"


def _contents(config: Mapping[str, Any], root: Path) -> list[Path]:
    """Return the files that a reader reads in its folder, sorted by name, without hidden files."""
    reader = _reader(config)
    if not reader or not reader.contents:
        return []
    folder = root / folder_of(config)
    found = (path.relative_to(folder) for path in folder.glob(reader.contents))
    return [folder / path for path in sorted(found) if not any(part.startswith(".") for part in path.parts)]


def _file_keys(config: Mapping[str, Any]) -> tuple[str, ...]:
    reader = _reader(config)
    return reader.files if reader else ()


def _folder_keys(config: Mapping[str, Any]) -> tuple[str, ...]:
    reader = _reader(config)
    return reader.folders if reader else ()


def _pattern_keys(config: Mapping[str, Any]) -> tuple[str, ...]:
    reader = _reader(config)
    return reader.patterns if reader else ()


def _reader(config: Mapping[str, Any]) -> CorpusFacts | None:
    """Return the facts of the reader of a corpus, or None for the toy world."""
    return facts("corpora.readers").get(config["reader"])


def _required(config: Mapping[str, Any]) -> frozenset[str]:
    """Return the keys that every corpus of this reader has; none for the toy world."""
    if _reader(config) is None:
        return frozenset()
    keys = config_module("corpora.readers", config["reader"]).Config.model_fields
    return frozenset(key for key, field in keys.items() if field.is_required())
