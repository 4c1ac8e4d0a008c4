"""Files that are there as a whole or not at all, and digests of what is in them."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
