"""Unpacking of archives. No member can leave the folder into which it is unpacked."""

import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

from captionlab.sources.table import DiskFull, SourceError, written_badly

_BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, tarfile.TarError, EOFError, NotImplementedError)


class BadArchive(SourceError):
    """The file is no archive, is broken, or has a member that must not be unpacked; it is of no use."""


class NoMember(SourceError):
    """The archive is intact but lacks a member that the table of sources names."""


def unpack(archive: Path, members: Mapping[str, str], folder: Path) -> dict[str, Path]:
    """Unpack members of a zip or tar archive into a folder, and return the path of each by its place.

    `members` maps places to members. A member that ends in / is a folder with its contents. A member may lie in any
    folder of the archive; the shallowest match is used. Raises BadArchive if the file is no archive or is broken, or if
    a member is a link or would leave the folder. Raises NoMember if a member is missing or ambiguous. Raises DiskFull
    if there is too little room, and SourceError if the folder cannot be written.
    """
    try:
        return _unpacked(archive, members, folder)
    except OSError as error:  # errors of gzip and bz2 have no errno
        if error.errno is not None:
            raise written_badly(folder, error) from error
        raise BadArchive(f"the archive is broken ({error})") from error
    except _BROKEN as error:
        raise BadArchive(f"the archive is broken ({error})") from error
    except RuntimeError as error:  # raised by zipfile if a password is needed
        if isinstance(error, SourceError):
            raise
        raise BadArchive(f"the archive cannot be unpacked ({error})") from error


def _unpacked(archive: Path, members: Mapping[str, str], folder: Path) -> dict[str, Path]:
    folder.mkdir(parents=True)
    unpacked = partial(_unzipped, archive, members.values(), folder)
    if tarfile.is_tarfile(archive):
        unpacked = partial(_untarred, archive, members.values(), folder)
    elif not zipfile.is_zipfile(archive):
        raise BadArchive("what came is neither a zip nor a tar archive")
    found = unpacked()
    return {place: folder / found[member] for place, member in members.items()}


def _found(names: Collection[str], members: Collection[str]) -> dict[str, str]:
    """Return the name of each member in an archive with the given names. Raises NoMember if none or several match."""
    found = {}
    for member in members:
        deep = {f"/{name}".partition(f"/{member}")[0][1:] for name in names if f"/{member}" in f"/{name}"}
        deep = {above for above in deep if above.partition("/")[0] != "__MACOSX"}  # copies that the Finder adds
        deep = {f"{above}/{member}" if above else member for above in deep}
        whole = {name for name in deep if name.endswith("/") or name in names}
        shallowest = min((name.count("/") for name in whole), default=0)
        whole = {name for name in whole if name.count("/") == shallowest}
        if len(whole) != 1:
            many = "several of the name" if whole else "no"
            raise NoMember(f"the archive has {many} {member}; it has {', '.join([*names][:5])}")
        (found[member],) = whole
    return found


def _unzipped(archive: Path, members: Collection[str], folder: Path) -> dict[str, str]:
    with zipfile.ZipFile(archive) as file:
        infos = file.infolist()
        for info in infos:
            # zipfile itself would silently extract such members elsewhere.
            parts = PurePosixPath(info.filename.replace("\\", "/")).parts
            if not parts or ".." in parts or parts[0] == "/" or ":" in parts[0]:
                raise BadArchive(f"its member {info.filename!r} would leave the folder that it is unpacked into")
            if stat.S_ISLNK(info.external_attr >> 16):
                raise BadArchive(f"its member {info.filename!r} is a link")
        found = _found([info.filename for info in infos], members)
        chosen = [info for info in infos if _wanted(info.filename, found.values())]
        check_room(sum(info.file_size for info in chosen), folder)
        for info in chosen:
            file.extract(info, folder)
        return found


def _untarred(archive: Path, members: Collection[str], folder: Path) -> dict[str, str]:
    with tarfile.open(archive) as file:
        by_name = {}
        for member in file:
            # The target of a link is not always the path that the filter checked.
            if member.issym() or member.islnk():
                raise BadArchive(f"its member {member.name!r} is a link")
            try:
                safe = tarfile.data_filter(member, str(folder))
            except tarfile.FilterError as error:
                raise BadArchive(f"its member {member.name!r} would leave the folder ({error})") from error
            by_name[f"{safe.name}/" if safe.isdir() else safe.name] = member
        found = _found(by_name, members)
        chosen = [member for name, member in by_name.items() if _wanted(name, found.values())]
        check_room(sum(member.size for member in chosen), folder)
        for member in chosen:
            file.extract(member, folder, filter="data")
        return found


def _wanted(name: str, found: Collection[str]) -> bool:
    return any(name == one or (one.endswith("/") and name.startswith(one)) for one in found)


def check_room(size: int, folder: Path) -> None:
    """Raise DiskFull if the disk of a folder has less than `size` bytes free."""
    free = shutil.disk_usage(folder).free
    if size > free:
        room = f"{size / 1e9:.2f} GB are needed and {free / 1e9:.2f} GB are free"
        raise DiskFull(f"the disk that holds {folder} has too little room: {room}; make room and run again")
