"""The table of sources, resources/sources.yaml: of each file that configs name address, size, licence."""

import errno
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from captionlab.files import read_yaml
from captionlab.paths import RESOURCES

TABLE = RESOURCES / "sources.yaml"
_UNITS = {"MB": 10**6, "GB": 10**9}


class SourceError(RuntimeError):
    """Something cannot be fetched, or is not what it was; the message says what, why, and what to do."""


class DiskFull(SourceError):
    """Nothing more can be fetched before somebody makes room."""


def written_badly(path: Path, error: OSError) -> SourceError:
    """The error to raise where a file or folder cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"the disk that holds {path} is full; make room and run again")
    return SourceError(f"{path} cannot be written ({error.strerror or error})")


@dataclass(frozen=True, kw_only=True)
class Source:
    """Something that is fetched as a whole: a file, an archive, or files of a repository on the Hugging Face hub."""

    name: str
    what: str
    origin: str
    """whose it is and where to look for it, in words"""
    licence: str
    becomes: str
    """what a run makes of it"""
    places: Mapping[str, str | None]
    """files, and folders, which end in /, below `data`: each with the member of the archive or file of the repository
    that is put there; null for the file that the address leads to"""
    addresses: tuple[str, ...] = ()
    """the second is that of an archive or mirror, for when the first fails"""
    seen: str | None = None
    """the public text that states the first address; None where nobody could look"""
    repository: str | None = None
    revision: str = "main"
    kind: str = "model"
    """of the repository: model or dataset"""
    size: str | int | None = None
    """bytes of the transfer, which are checked; as text, about so many MB or GB"""
    sha256: str | None = None
    by_hand: str | None = None
    """what to do, where it cannot be fetched"""
    section: str = field(default="", repr=False)

    @property
    def bytes(self) -> int | None:
        """How large the transfer is, or about; None where that is not known."""
        if isinstance(self.size, str):
            number, unit = self.size.split()
            return int(float(number) * _UNITS[unit])
        return self.size

    @property
    def is_archive(self) -> bool:
        """Whether an address leads to an archive, of which members are unpacked."""
        return self.repository is None and any(member is not None for member in self.places.values())

    def missing(self, data: Path) -> list[str]:
        """The places where nothing is, or an empty folder."""
        return [place for place in self.places if not is_there(data / place)]


def is_there(path: Path) -> bool:
    """Whether a file, or a folder with something in it, is there."""
    return any(path.iterdir()) if path.is_dir() else path.exists()


def read_sources(path: Path = TABLE) -> list[Source]:
    """The sources of a table, in its order."""
    found = []
    for section, sources in read_yaml(path).items():
        for name, keys in sources.items():
            keys = {**keys, "addresses": tuple(keys.get("addresses", ()))}
            if isinstance(keys["places"], str):
                keys["places"] = {keys["places"]: None}
            found.append(Source(name=name, section=section, **keys))
    return found


def hub_source(repository: str, revision: str, kind: str) -> Source:
    """A dataset or model on the hub that a config names by repository and revision; its files lie in `hub_folder`."""
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
    """Where the files of a repository on the hub lie below `data`."""
    return f"hub/{repository}/{revision}"


def hub_models(paths: Iterable[str]) -> list[Source]:
    """The models on the hub among paths below `data`: hub/owner/name/commit, all of it or a file in it."""
    found = (re.match(r"hub/([^/]+/[^/]+)/([0-9a-f]{40})(/|$)", path) for path in paths)
    pairs = dict.fromkeys((match[1], match[2]) for match in found if match)
    return [hub_source(*pair, "model") for pair in pairs]


def serving(sources: Iterable[Source], paths: Iterable[str]) -> list[Source]:
    """The sources of what a config names, in the order of the table, each with those of its places that are asked for.

    That is a place which is named, or holds what is named, or is in a folder that is named.
    """
    named = [f"{path.rstrip('/')}/" for path in paths]
    if not named:  # as of most models, which are trained
        return []

    def asked(place: str) -> bool:
        folder = f"{place.rstrip('/')}/"
        return any(folder.startswith(path) or path.startswith(folder) for path in named)

    found = ((source, {place: member for place, member in source.places.items() if asked(place)}) for source in sources)
    return [replace(source, places=places) for source, places in found if places]


def commit(revision: str) -> bool:
    """Whether a revision can never become another one."""
    return re.fullmatch("[0-9a-f]{40}", revision) is not None
