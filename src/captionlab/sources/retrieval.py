"""What of a config is missing, what is said of it before anything is fetched, and how it is fetched.

Below `data` there are, beside the files themselves: `sources.lock.json`, what was fetched with its checksum, to which
later transfers are held; `.retrieve.lock`, by which of two runs at once one waits; and `.retrieve/`, where files lie
until they are whole.
"""

import datetime
import errno
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from captionlab.files import replacing
from captionlab.given import GivenError, read_json
from captionlab.sources.table import DiskFull, Source, SourceError, commit, is_there, written_badly

if TYPE_CHECKING:
    from captionlab.sources.transfer import Remote

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Retrieval:
    """Sources of files below a folder, `data`."""

    sources: list[Source]
    data: Path

    @property
    def record(self) -> Path:
        """The lock file: of each file that was fetched its sha256, bytes, address and day, and the hub's commit."""
        return self.data / "sources.lock.json"

    @cached_property
    def missing(self) -> list[Source]:
        """Those of which something is not there; looked at once."""
        return [source for source in self.sources if source.missing(self.data)]

    @property
    def fetchable(self) -> list[Source]:
        """Those of the missing ones that have an address."""
        return [source for source in self.missing if not source.by_hand]

    def looked_up(self) -> "Retrieval":
        """The same, with what the hub says of missing repositories of unknown size: bytes, licence and commit.

        Of one that cannot be asked nothing more is known; why that is will be said when it is fetched.
        """
        return replace(self, sources=[self._looked_up(source) for source in self.sources])

    def _looked_up(self, source: Source) -> Source:
        if source.repository is None or source.size is not None or source not in self.fetchable:
            return source
        from captionlab.sources.transfer import look_at_repository

        try:
            found = look_at_repository(source.repository, source.kind, self._revision(source))
        except SourceError:
            return source
        licence, size = found.licence or source.licence, f"{sum(found.files.values()) / 1e6:.3f} MB"
        return replace(source, size=size, licence=licence, revision=found.commit)

    def described(self) -> str:
        """What is missing, how large it is and under which licence, and what is to be done by hand; lines."""
        by_hand = [source for source in self.missing if source.by_hand]
        if not self.missing:
            return f"Everything that the config names is there ({self.data}).\n"
        lines = []
        if self.fetchable:
            sizes = [source.bytes for source in self.fetchable]
            unknown = f" and {sizes.count(None)} of unknown size" if None in sizes else ""
            free = _size(shutil.disk_usage(_existing(self.data)).free)
            total = _size(sum(size or 0 for size in sizes))
            lines.append(f"To be fetched into {self.data}: {total}{unknown}; {free} are free there.")
            lines += [line for source in self.fetchable for line in _lines(source)]
        if by_hand:
            lines.append(f"To be put below {self.data} by hand:")
            lines += [line for source in by_hand for line in _lines(source)]
        return "\n".join(lines) + "\n"

    def fetch(self) -> None:
        """Fetch what is missing; a SourceError lists what could not be had, when all else was fetched.

        A run that comes second waits, and finds what the first one fetched.
        """
        staging = self.data / ".retrieve"
        self.data.mkdir(parents=True, exist_ok=True)
        failed = []
        with _alone(self.data / ".retrieve.lock"):
            staging.mkdir(exist_ok=True)
            self._check_room(staging)
            for source in self.fetchable:
                try:
                    self._fetch(source, staging)
                except DiskFull:
                    raise
                except SourceError as error:
                    failed.append(f"{source.name}: {error}")
            if not any(staging.iterdir()):
                staging.rmdir()
        if failed:
            what = f"not everything could be fetched; run again, or put these below {self.data} by hand"
            raise SourceError(f"{what}:\n" + "\n".join(f"  - {line}" for line in failed))

    def _check_room(self, folder: Path) -> None:
        """Raise a SourceError before anything is fetched where the sizes that are known do not fit together.

        What came of a file earlier is there already. An archive and what is in it lie beside each other for a while.
        """
        from captionlab.sources.unpacking import check_room

        missing = [source for source in self.fetchable if source.missing(self.data)]
        sizes = {source.name: source.bytes or 0 for source in missing}
        came = {
            name: sum(path.stat().st_size for path in folder.glob(f"{escape(name)}.{'[0-9a-f]' * 16}.partial"))
            for name in sizes
        }
        archives = [sizes[source.name] for source in missing if source.is_archive]
        check_room(sum(max(0, sizes[name] - came[name]) for name in sizes) + max(archives, default=0), folder)

    def _fetch(self, source: Source, staging: Path) -> None:
        """Fetch what of a source is missing, and put it in place."""
        missing = source.missing(self.data)
        if not missing:
            logger.info("%s is there by now", source.name)
            return
        refuse_links(self.data / place for place in missing)
        logger.info("%s: %s", source.name, ", ".join(missing))
        if source.repository is None:
            self._from_addresses(source, missing, staging)
            return
        for place in missing:
            member = source.places[place]
            if member:
                self._from_hub(source, member, self.data / place, staging)
            else:
                self._whole_repository(source, place, staging)

    def _from_addresses(self, source: Source, missing: list[str], staging: Path) -> None:
        from captionlab.sources.transfer import look

        looks = [partial(look, address) for address in source.addresses]
        file, what = self._first(source, source.name, looks, staging)
        members = {place: member for place, member in source.places.items() if member is not None and place in missing}
        if members:
            self._unpack(source, file, members, staging)
        else:
            put(file, self.data / missing[0])
        self._note(source.name, what)

    def _unpack(self, source: Source, file: Path, members: Mapping[str, str], staging: Path) -> None:
        """Put members of an archive in place, which is deleted then."""
        from captionlab.sources.unpacking import BadArchive, NoMember, unpack

        unpacked = staging / f"{source.name}.unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)
        try:
            for place, path in unpack(file, members, unpacked).items():
                put(path, self.data / place)
        except NoMember as error:
            raise SourceError(
                f"{error}; it stays as {file}; unpack it by hand, or delete it to fetch it anew"
            ) from error
        except BadArchive as error:
            file.unlink()
            raise SourceError(f"{error} ({' or '.join(source.addresses)})") from error
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
        file.unlink()

    def _from_hub(self, source: Source, member: str, target: Path, staging: Path) -> None:
        from captionlab.sources.transfer import look_on_hub

        key = f"{source.repository}/{member}"
        asked = partial(look_on_hub, str(source.repository), source.kind, self._revision(source), member)
        file, what = self._first(source, key, [asked], staging)
        put(file, target)
        self._note(key, what)

    def _revision(self, source: Source) -> str:
        """What a repository is asked for: a branch moves, so it is the commit of what came of it at first sight."""
        if commit(source.revision):
            return source.revision
        known = (what for key, what in self._records().items() if key.startswith(f"{source.repository}/"))
        return next((str(what["commit"]) for what in known if "commit" in what), source.revision)

    def _whole_repository(self, source: Source, place: str, staging: Path) -> None:
        """Fetch the files of a repository, each as it comes, and put their folder in place when all are there."""
        from captionlab.sources.transfer import look_at_repository
        from captionlab.sources.unpacking import check_room

        found = look_at_repository(str(source.repository), source.kind, self._revision(source))
        folder = staging / place.strip("/").replace("/", "--")
        wanted = {name: size for name, size in found.files.items() if not (folder / name).exists()}
        check_room(sum(wanted.values()), staging)
        for name in wanted:
            self._from_hub(replace(source, revision=found.commit), name, folder / name, staging)
        put(folder, self.data / place)

    def _first(
        self, source: Source, key: str, looks: Sequence[Callable[[], "Remote"]], staging: Path
    ) -> tuple[Path, dict[str, Any]]:
        """The file from the first address that has it, as it is expected, and what is to be noted of it."""
        from captionlab.sources.transfer import checked, drop_others, transfer

        known, tried = self._recorded(key), []
        for asked in looks:
            file = None
            try:
                remote = asked()
                file = transfer(remote, staging, key.replace("/", "--"))
                size = source.size if isinstance(source.size, int) else None
                sha256 = checked(file, source.sha256, size, "the table of sources")
                checked(file, remote.sha256, None, "the hub")
                if known and not source.sha256:
                    meant = f"{self.record} of {known['fetched']}; if another file is meant, delete the entry {key!r}"
                    checked(file, known["sha256"], None, meant)
            except DiskFull:
                raise
            except SourceError as error:
                tried.append(f"{error} ({remote.address})" if file else str(error))
                if file:  # came, and is not what it should be
                    file.unlink()
                continue
            drop_others(file)
            what = {"sha256": sha256, "size": file.stat().st_size, "from": remote.address}
            return file, what | ({"commit": remote.commit} if remote.commit else {})
        raise SourceError("; ".join(tried))

    def _records(self) -> dict[str, Any]:
        if not self.record.exists():
            return {}
        try:
            found = read_json(self.record)
        except GivenError as error:
            raise SourceError(f"{error}; mend or delete it") from error
        if not isinstance(found, dict):
            raise SourceError(f"{self.record} is no table of what was fetched; mend or delete it")
        return found

    def _recorded(self, key: str) -> dict[str, Any]:
        return dict(self._records().get(key, {}))

    def _note(self, key: str, what: Mapping[str, Any]) -> None:
        known = self._records()
        known[key] = {**what, "fetched": datetime.date.today().isoformat()}
        with replacing(self.record) as path:
            path.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")


def put(path: Path, target: Path) -> None:
    """Move a file or folder to where it belongs, as a whole; what somebody put there meanwhile stays instead.

    A SourceError says why it cannot be there; a DiskFull, that its disk is full.
    """
    refuse_links([target])
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # FileExistsError too: a file in a folder's place
        raise written_badly(target.parent, error) from error
    try:
        _move(path, target)
    except FileExistsError:
        logger.warning("%s is there by now and is left as it is", target)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    except OSError as error:
        raise written_badly(target, error) from error


def _move(path: Path, target: Path) -> None:
    """Move, unless something is there: a FileExistsError."""
    if is_there(target):
        raise FileExistsError(target)
    try:
        _place(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:  # a folder below `data` that is on another disk
            raise
        beside = target.with_name(f".{target.name}.partial")
        _remove(beside)
        try:
            shutil.move(path, beside)
            if is_there(target):
                raise FileExistsError(target) from error
            _place(beside, target)
        finally:
            _remove(beside)


def _place(path: Path, target: Path) -> None:
    if path.is_dir():
        os.replace(path, target)  # fails where a folder with something in it, or a file, is there
        return
    try:
        os.link(path, target)  # fails where anything is there
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP):  # a disk that knows no hard links
            raise
        os.replace(path, target)
        return
    path.unlink()


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def refuse_links(targets: Iterable[Path]) -> None:
    """Raise a SourceError where something is to go to a link, or to a folder on which a disk is mounted."""
    for target in targets:
        if target.is_symlink() and not target.exists():
            raise SourceError(f"{target} is a link to {os.readlink(target)}, where nothing is; delete or mend the link")
        if not is_there(target) and (target.is_symlink() or target.is_mount()):
            kind = "a link to an empty folder" if target.is_symlink() else "an empty disk"
            raise SourceError(f"{target} is {kind}, in whose place no folder can be put; fill it by hand or delete it")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock, and say so where it has to be waited for."""
    from filelock import FileLock, Timeout  # not where a plan is made, which needs Snakemake alone

    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.info("another run fetches into %s; waiting for it", path.parent)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _lines(source: Source) -> Iterator[str]:
    """What is said of a source before it is fetched."""
    size = "size unknown" if source.bytes is None else _size(source.bytes)
    where = f"{source.repository}, revision {source.revision}" if source.repository else " or ".join(source.addresses)
    yield f"  {source.name}: {source.what} ({size}; licence: {source.licence})"
    yield f"    -> {', '.join(source.places)}"
    if source.by_hand:
        yield f"    {source.by_hand}"
    else:
        yield f"    from {where}{'' if source.seen or source.repository else ' (an address that nobody could check)'}"


def _size(size: int) -> str:
    """Bytes in the unit that they are read in."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())
