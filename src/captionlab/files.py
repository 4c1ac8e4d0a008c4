"""Files that are there as a whole or not at all, digests of what is in them, and YAML that says nothing twice."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name beside `path` to write to.

    When the block ends, what was written there takes the place of `path`; when it fails, it is deleted and `path` is
    as before. The folder is made where it is missing.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def link_file(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Make `path` another name of the file `source`, or a copy of it where the file system has no hard links."""
    with replacing(path) as partial:
        partial.unlink(missing_ok=True)
        try:
            os.link(source, partial)
        except OSError:
            shutil.copyfile(source, partial)


@contextmanager
def replacing_folder(directory: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `directory` when the block ends without an error."""
    partial, old = (directory.with_name(f".{directory.name}.{end}") for end in ("partial", "old"))
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        if directory.exists():
            os.replace(directory, old)
        os.replace(partial, directory)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def digest(path: str | os.PathLike[str]) -> str:
    """BLAKE2b of a file, 32 hexadecimal digits; of a folder, from the names and contents of all files in it.

    The time stamp that Snakemake puts into a folder that a rule made is none of them.
    """
    path = Path(path)
    if not path.is_dir():
        with open(path, "rb") as content:
            return hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
    whole = hashlib.blake2b(digest_size=16)
    files = (inner for inner in path.rglob("*") if inner.is_file() and inner.name != ".snakemake_timestamp")
    for file in sorted(files):
        whole.update(f"{file.relative_to(path)}\0{digest(file)}\0".encode())
    return whole.hexdigest()


def names_digest(folder: str | os.PathLike[str]) -> str:
    """The same of the names in a folder alone, without those that are hidden and what is in the folders in it."""
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    return hashlib.blake2b("\0".join(names).encode(errors="surrogateescape"), digest_size=16).hexdigest()


class RepeatedKeyError(ValueError):
    """A file of YAML or JSON has a key twice; the message names file, keys and lines."""


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """What a file of YAML or JSON says; RepeatedKeyError where a mapping has a key twice, as YAML takes the last."""
    text = Path(path).read_text(encoding="utf-8")
    loader = yaml.CSafeLoader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError:
        with suppress(ValueError):
            return json.loads(text)  # with escapes that YAML does not have
        raise
    if node is None:  # comments only
        return None
    if twice := list(_repeated(node, "", set())):
        raise RepeatedKeyError(f"{path}: {', '.join(twice)}, of which YAML takes the last; keep one of them")
    return loader.construct_document(node)


def _repeated(node: Any, where: str, seen: set[int]) -> Iterator[str]:
    """Keys that stand twice in a mapping or in what it holds, each with both lines; an alias is looked at once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _repeated(item, f"{where}{number}.", seen)
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[tuple[str, str], int] = {}
    for key, value in node.value:
        # A merge (<<) may stand there more than once, and all of them count.
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            line, name = key.start_mark.line + 1, f"{where}{key.value}"
            if first := lines.get((key.tag, key.value)):
                yield f"the key {name} stands in line {first} and in line {line}"
            lines[key.tag, key.value] = line
            yield from _repeated(value, f"{name}.", seen)
