"""Files that appear complete or not at all, digests of files, and YAML without repeated keys."""

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
    """Yield a path beside `path` to write to.

    If the block ends without an error, the written file replaces `path`. If it fails, the file is deleted and `path` is
    unchanged. A missing folder is made.
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
    """Make `path` a hard link to the file `source`, or a copy if the file system has no hard links."""
    with replacing(path) as partial:
        partial.unlink(missing_ok=True)
        try:
            os.link(source, partial)
        except OSError:
            shutil.copyfile(source, partial)


@contextmanager
def replacing_folder(directory: Path) -> Iterator[Path]:
    """Yield a folder to fill, which replaces `directory` if the block ends without an error."""
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
    """Return the BLAKE2b digest, 32 hexadecimal digits, of a file or of the names and contents of a folder's files.

    The time stamp file that Snakemake puts into a folder made by a rule is left out.
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
    """Return the BLAKE2b digest, 32 hexadecimal digits, of the names in a folder.

    Hidden names are left out, and subfolders are not entered.
    """
    names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    return hashlib.blake2b("\0".join(names).encode(errors="surrogateescape"), digest_size=16).hexdigest()


class RepeatedKeyError(ValueError):
    """A YAML or JSON file repeats a key. The message names file, keys and lines."""


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Return the document in a YAML or JSON file; None if the file has comments only.

    Raises RepeatedKeyError if a mapping repeats a key, because YAML would silently take the last value. Raises
    yaml.YAMLError if the file is neither YAML nor JSON.
    """
    text = Path(path).read_text(encoding="utf-8")
    loader = yaml.CSafeLoader(text)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError:
        with suppress(ValueError):
            return json.loads(text)  # JSON has escapes that YAML does not have
        raise
    if node is None:  # comments only
        return None
    if twice := list(_repeated(node, "", set())):
        raise RepeatedKeyError(f"{path}: {', '.join(twice)}; YAML takes the last value, so keep only one")
    return loader.construct_document(node)


def _repeated(node: Any, where: str, seen: set[int]) -> Iterator[str]:
    """Yield the repeated keys of a mapping and of its values, each with both lines. An alias is visited once."""
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
        # A merge key (<<) may be repeated, and every merge counts.
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            line, name = key.start_mark.line + 1, f"{where}{key.value}"
            if first := lines.get((key.tag, key.value)):
                yield f"the key {name} stands in line {first} and in line {line}"
            lines[key.tag, key.value] = line
            yield from _repeated(value, f"{name}.", seen)
