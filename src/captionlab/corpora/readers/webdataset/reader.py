"""WebDataset: tars with an image, its text and its JSON per key, as img2dataset writes them."""

import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from tarfile import TarFile, TarInfo
from typing import Any

from captionlab.corpora.images import Fault
from captionlab.corpora.inputs import CorpusError, files_beside_tars, tars
from captionlab.corpora.readers.entries import Entry
from captionlab.corpora.readers.passed_over import PassedOver
from captionlab.images.locations import ImageLocation
from captionlab.images.pixels import ENDINGS

TEXTS = ("txt", "caption")
_BLOCK = tarfile.BLOCKSIZE


class _Unusable(ValueError):
    """The fault of an entry that is left out: a reason of REJECTS and details."""

    def __init__(self, reason: str, detail: str):
        super().__init__(detail)
        self.fault = Fault(reason, detail)


@dataclass(slots=True)
class _Sample:
    """Adjacent members of a tar with the same key, by extension.

    `repeated` is a member whose extension occurs twice.
    """

    key: str
    members: dict[str, TarInfo] = field(default_factory=dict)
    repeated: TarInfo | None = None


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of the tars, split by split; tars are sorted by name and keep the order of their members.

    The key of a member is its path up to the first dot of its file name. Members of a key must be adjacent. An image
    stays in its tar: its place is an offset and a length. A key without an image or without an expected caption becomes
    a reject. Members that are no image, text or JSON, and files beside the tars, are counted in the log. Raises
    CorpusError if a tar is cut short or compressed.
    """
    for split, pattern in config["tars"].items():
        passed_over = PassedOver()
        for path in tars(root, pattern):
            with _open(path) as tar:
                for sample in _samples(_members(tar, path)):
                    _count_others(sample, passed_over)
                    yield _entry(config, split, tar, path, sample)
        passed_over.log(f"tars of {split}")
        _log_files_beside(root, pattern)


def _count_others(sample: _Sample, passed_over: PassedOver) -> None:
    """Count the members of a sample that are no image, text or JSON."""
    for ending in sample.members:
        if not _is_image(ending) and ending not in (*TEXTS, "json"):
            passed_over.add(ending and f".{ending}")


def _log_files_beside(root: Path, pattern: str) -> None:
    """Log the count of files that a pattern of tars matches and that are no tars, compressed tars among them."""
    passed_over = PassedOver()
    for path in files_beside_tars(root, pattern):
        _, packed, kind = path.name.lower().rpartition(".tar.")
        passed_over.add(packed + kind if packed else path.suffix.lower())
    passed_over.log(root / pattern)


def _open(path: Path) -> TarFile:
    try:
        return tarfile.open(path, "r:")
    except tarfile.TarError as error:
        raise CorpusError(
            f"{path} is no tar that can be read ({error}); fetch it again, or unpack it first if it is compressed: "
            "images are read at their place in it"
        ) from error


def _members(tar: TarFile, path: Path) -> Iterator[TarInfo]:
    """Yield the members of a tar except folders and hidden files, one in memory at a time.

    Raises CorpusError if the tar ends too early.
    """
    last = "its beginning"
    try:
        while (member := tar.next()) is not None:
            tar.members.clear()  # type: ignore[attr-defined]  # otherwise all members stay in memory
            last = repr(member.name)
            if not member.isdir() and not member.name.rpartition("/")[2].startswith("."):
                yield member
    except tarfile.TarError as error:
        raise _cut(path, last) from error
    # Python takes a damaged header for the end of a tar, without an error. The true end is a block of zeros.
    with open(path, "rb") as file:
        file.seek(tar.offset)
        if file.read(_BLOCK) != bytes(_BLOCK):
            raise _cut(path, last)


def _cut(path: Path, last: str) -> CorpusError:
    return CorpusError(f"{path} is cut short or damaged behind {last}; fetch it again, or take it out of the folder")


def _samples(members: Iterator[TarInfo]) -> Iterator[_Sample]:
    """Group adjacent members with the same key."""
    sample: _Sample | None = None
    for member in members:
        folder, _, name = member.name.rpartition("/")
        stem, _, ending = name.partition(".")
        key, ending = normpath(f"{folder}/{stem}" if folder else stem), ending.lower()
        if sample is None or key != sample.key:
            if sample:
                yield sample
            sample = _Sample(key)
        if ending in sample.members:
            sample.repeated = member
        sample.members[ending] = member
    if sample:
        yield sample


def _is_image(ending: str) -> bool:
    """Return whether the ending of a member, which has no dot before it, is an ending of images."""
    return f".{ending}" in ENDINGS


def _entry(config: Mapping[str, Any], split: str, tar: TarFile, path: Path, sample: _Sample) -> Entry:
    images = [member for ending, member in sample.members.items() if _is_image(ending)]
    image = images[0] if images else None
    member = image.name if image else next(iter(sample.members.values())).name
    # A link has no bytes of its own. It becomes a reject below.
    place = ImageLocation(str(path), image.offset_data, image.size) if image else ImageLocation(str(path))
    try:
        if sample.repeated:
            raise _Unusable("duplicate", f"the tar has {sample.repeated.name!r} twice under one key")
        if image is None:
            endings = ", ".join(f".{ending}" for ending in sample.members)
            raise _Unusable("missing", f"no image has this key, only {endings}; members of a key stand side by side")
        if len(images) > 1:
            raise _Unusable("duplicate", f"{images[1].name!r} is another image of this key; give each a key of its own")
        if image.issparse():
            raise _Unusable("unsupported", "a sparse file in a tar, not all of it bytes; write it without --sparse")
        if not image.isreg():
            raise _Unusable("unsupported", "a link in a tar; write the image itself")
        captions = _captions(config, tar, sample)
    except _Unusable as unusable:
        return Entry(sample.key, split, place, [], fault=unusable.fault, member=member)
    return Entry(sample.key, split, place, captions, member=member)


def _captions(config: Mapping[str, Any], tar: TarFile, sample: _Sample) -> list[str] | None:
    """Return the captions of a sample, or None if no captions are expected. Raises _Unusable if they are missing."""
    if "captions" not in config:
        ending = next((ending for ending in TEXTS if ending in sample.members), None)
        if ending is None:
            raise _Unusable("no-caption", "neither .txt nor .caption stands beside it")
        return [_text(tar, sample.members[ending])]
    if (name := config["captions"]) is None:
        return None
    if "json" not in sample.members:
        raise _Unusable("no-caption", "no .json stands beside it")
    try:
        record = json.loads(_text(tar, sample.members["json"]))
    except (ValueError, RecursionError) as error:
        raise _Unusable("broken", f"its .json cannot be read: {error}") from error
    found = record.get(name) if isinstance(record, dict) else None
    if found is None:
        raise _Unusable("no-caption", f"its .json has nothing in a field {name!r}")
    texts = [found] if isinstance(found, str) else found
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise _Unusable("no-caption", f"{name!r} of its .json is {str(found)[:40]!r}, no text and no list of texts")
    return texts


def _text(tar: TarFile, member: TarInfo) -> str:
    file = tar.extractfile(member) if member.isreg() else None
    if file is None:
        raise _Unusable("unsupported", f"{member.name!r} is a link in a tar; write the file itself")
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Unusable("broken", f"{member.name!r} is no text in UTF-8") from error
