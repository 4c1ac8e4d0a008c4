"""The table of sources, resources/sources.yaml, with the address, size and licence of each file that configs name."""

import errno
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, unquote

from captionlab.storage.files import read_yaml
from captionlab.storage.paths import RESOURCES

TABLE = RESOURCES / "sources.yaml"
BUCKETS = "s3://"  # how addresses in buckets begin
_UNITS = {"MB": 10**6, "GB": 10**9}


class SourceError(RuntimeError):
    """A source cannot be fetched or has changed; the message says what, why, and what to do."""


class DiskFull(SourceError):
    """The disk is full, so nothing more can be fetched before somebody makes room."""


def written_badly(path: Path, error: OSError) -> SourceError:
    """Return the error to raise if a file or folder cannot be written; it is DiskFull if the disk is full."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"the disk that holds {path} is full; make room and run again")
    return SourceError(f"{path} cannot be written ({error.strerror or error})")


@dataclass(frozen=True, kw_only=True)
class Source:
    """A source that is fetched as a whole: a file, an archive, or files of a repository on the Hugging Face hub."""

    name: str
    what: str
    origin: str
    """publisher of the source and where to find it, in words"""
    licence: str
    becomes: str
    """what a run makes of the source, in words"""
    places: Mapping[str, str | None]
    """files, and folders, which end in /, below `data`: each with the member of the archive or file of the repository
    that is put there; null for the file that the address leads to"""
    addresses: tuple[str, ...] = ()
    """address of the source and, for the case that it fails, address of an archive or mirror"""
    seen: str | None = None
    """the public text that states the first address; None where nobody could look"""
    repository: str | None = None
    revision: str = "main"
    kind: str = "model"
    """kind of the repository: model or dataset"""
    size: str | int | None = None
    """bytes of the transfer, which are checked; as text, about so many MB or GB"""
    sha256: str | None = None
    by_hand: str | None = None
    """advice to the user if the source cannot be fetched"""
    section: str = field(default="", repr=False)

    @property
    def bytes(self) -> int | None:
        """Return the exact or approximate size of the transfer in bytes, None if unknown."""
        if isinstance(self.size, str):
            number, unit = self.size.split()
            return int(float(number) * _UNITS[unit])
        return self.size

    @property
    def is_in_bucket(self) -> bool:
        """Return whether the source is a file or folder in a bucket."""
        return any(address.startswith(BUCKETS) for address in self.addresses)

    @property
    def is_archive(self) -> bool:
        """Return whether the addresses lead to an archive whose members are unpacked."""
        return self.repository is None and any(member is not None for member in self.places.values())

    def missing(self, data: Path) -> list[str]:
        """Return the places of the source below `data` where there is no file, or only an empty folder."""
        return [place for place in self.places if not is_there(data / place)]


def is_there(path: Path) -> bool:
    """Return whether a path is an existing file or a folder that is not empty."""
    return any(path.iterdir()) if path.is_dir() else path.exists()


def read_sources(path: Path = TABLE) -> list[Source]:
    """Return the sources of a table, in its order."""
    found = []
    for section, sources in read_yaml(path).items():
        for name, keys in sources.items():
            keys = {**keys, "addresses": tuple(keys.get("addresses", ()))}
            if isinstance(keys["places"], str):
                keys["places"] = {keys["places"]: None}
            found.append(Source(name=name, section=section, **keys))
    return found


def hub_source(repository: str, revision: str, kind: str) -> Source:
    """Return the source of a dataset or model of the hub by repository and revision; its files go to `hub_folder`."""
    return Source(
        name=f"{repository}@{revision}",
        what=f"a {'data set' if kind == 'dataset' else kind} that the config names",
        origin="Hugging Face hub",
        licence="see its page",
        becomes="",
        places={f"{hub_folder(repository, revision)}/": ""},
        repository=repository,
        revision=revision,
        kind=kind,
    )


def hub_folder(repository: str, revision: str) -> str:
    """Return the folder of a repository of the hub, relative to `data`."""
    return f"hub/{repository}/{revision}"


def hub_models(paths: Iterable[str]) -> list[Source]:
    """Return the sources of the hub models among paths below `data`: hub/owner/name/commit or files in such folders."""
    found = (re.match(r"hub/([^/]+/[^/]+)/([0-9a-f]{40})(/|$)", path) for path in paths)
    pairs = dict.fromkeys((match[1], match[2]) for match in found if match)
    return [hub_source(*pair, "model") for pair in pairs]


def in_data(address: str) -> str:
    """Return the place below `data` of a file or folder in a bucket.

    The key of the file is one name, with %2F for each slash, so that no place is inside another.
    """
    bucket, _, key = address.removeprefix(BUCKETS).partition("/")
    return f"s3/{bucket}/{quote(key.strip('/') or '/', safe='')}"


def bucket_sources(paths: Iterable[str]) -> list[Source]:
    """Return the sources of the files and folders of buckets among paths below `data`."""
    found = dict.fromkeys(match[0] for path in paths if (match := re.match(r"s3/[^/]+/[^/]+", path)))
    return [_bucket_source(place) for place in found]


def _bucket_source(place: str) -> Source:
    address = f"{BUCKETS}{unquote(place.removeprefix('s3/'))}"
    return Source(
        name=address,
        what="a file or folder that the config names",
        origin="a bucket",
        licence="as its owner states",
        becomes="",
        places={place: None},
        addresses=(address,),
        seen=address,
    )


def serving(sources: Iterable[Source], paths: Iterable[str]) -> list[Source]:
    """Return the sources that provide the given paths, in the order of the table, each with the requested places only.

    A place is requested if a path names it, is inside it, or is a folder that contains it.
    """
    named = [f"{path.rstrip('/')}/" for path in paths]
    if not named:  # the usual case for models, most of which are trained
        return []

    def asked(place: str) -> bool:
        folder = f"{place.rstrip('/')}/"
        return any(folder.startswith(path) or path.startswith(folder) for path in named)

    found = ((source, {place: member for place, member in source.places.items() if asked(place)}) for source in sources)
    return [replace(source, places=places) for source, places in found if places]


def commit(revision: str) -> bool:
    """Return whether a revision is a full commit hash, which never changes, and no branch or tag."""
    return re.fullmatch("[0-9a-f]{40}", revision) is not None
