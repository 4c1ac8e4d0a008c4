"""Retrieval of the files that a config names and that are missing: what to fetch, its description, and the transfer.

Besides the files themselves, the folder `data` holds three things. `sources.lock.json` lists the fetched files with
their checksums, against which later transfers are checked. `.retrieve.lock` makes one of two simultaneous runs wait.
`.retrieve/` holds files until they are complete.
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

from captionlab.sources.table import DiskFull, Source, SourceError, commit, is_there, written_badly
from captionlab.storage.files import replacing
from captionlab.userfiles.reading import GivenError, read_json

if TYPE_CHECKING:
    from captionlab.sources.transfer import Remote

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Retrieval:
    """The retrieval of sources into a folder, `data`."""

    sources: list[Source]
    data: Path

    @property
    def record(self) -> Path:
        """Return the path of the lock file.

        It has the sha256, size, address and day of each fetched file, and the commit of files of the hub.
        """
        return self.data / "sources.lock.json"

    @cached_property
    def missing(self) -> list[Source]:
        """Return the sources with a missing file; this is checked once."""
        return [source for source in self.sources if source.missing(self.data)]

    @property
    def fetchable(self) -> list[Source]:
        """Return the missing sources that have an address."""
        return [source for source in self.missing if not source.by_hand]

    def looked_up(self) -> "Retrieval":
        """Return a copy with the size, licence and commit that the hub states for missing repositories of unknown size.

        If the hub cannot be asked about a repository, its source is unchanged, and the error is raised when it is
        fetched.
        """
        return replace(self, sources=[self._looked_up(source) for source in self.sources])

    def _looked_up(self, source: Source) -> Source:
        if source.size is not None or source not in self.fetchable:
            return source
        if source.is_in_bucket:
            from captionlab.sources.buckets import connected, listed

            try:
                return replace(source, size=sum(item.size for item in listed(source.name, connected())))
            except SourceError:
                return source
        if source.repository is None:
            return source
        from captionlab.sources.transfer import look_at_repository

        try:
            found = look_at_repository(source.repository, source.kind, self._revision(source))
        except SourceError:
            return source
        licence, size = found.licence or source.licence, f"{sum(found.files.values()) / 1e6:.3f} MB"
        return replace(source, size=size, licence=licence, revision=found.commit)

    def described(self) -> str:
        """Return lines of text about what is missing, with sizes and licences, and about what must be done by hand."""
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
        """Fetch the missing sources. Raises SourceError, after fetching the others, if some could not be fetched.

        The message lists the failures. A second simultaneous run waits and then uses the files that the first run
        fetched. Raises DiskFull at once if the disk is full.
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
        """Raise DiskFull before anything is fetched if the known sizes do not fit on the disk.

        Bytes of earlier transfers are on the disk already. An archive and its members need room at the same time.
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
        """Fetch the missing files of a source and put them in place."""
        missing = source.missing(self.data)
        if not missing:
            logger.info("%s is there by now", source.name)
            return
        refuse_links(self.data / place for place in missing)
        logger.info("%s: %s", source.name, ", ".join(missing))
        if source.is_in_bucket:
            self._from_bucket(source, missing[0], staging)
            return
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

    def _from_bucket(self, source: Source, place: str, staging: Path) -> None:
        from captionlab.sources.buckets import fetch

        file, what = fetch(source.name, staging)
        known = self._recorded(source.name)
        for name in known.keys() & {"sha256", "files", "size"}:
            if known[name] != what.get(name):
                meant = f"if another file is meant, delete the entry {source.name!r}"
                differing = f"{name} of what came is {what.get(name)}, and {known[name]} in {self.record}"
                raise SourceError(f"{differing} of {known['fetched']}; {meant}")
        put(file, self.data / place)
        shutil.rmtree(file.parent)
        self._note(source.name, what)

    def _unpack(self, source: Source, file: Path, members: Mapping[str, str], staging: Path) -> None:
        """Put members of an archive in place and delete the archive."""
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
        """Return the commit to request: for a branch, which may move, the commit at which it was first fetched."""
        if commit(source.revision):
            return source.revision
        known = (what for key, what in self._records().items() if key.startswith(f"{source.repository}/"))
        return next((str(what["commit"]) for what in known if "commit" in what), source.revision)

    def _whole_repository(self, source: Source, place: str, staging: Path) -> None:
        """Fetch the files of a repository one by one, and put their folder in place when it is complete."""
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
        """Return the file from the first address that provides it as expected, and its entry for the lock file.

        Raises SourceError with the reason per address if no address does.
        """
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
                if file:  # the file came, but is not the expected file
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
    """Move a file or folder to its target as a whole, unless something was put there meanwhile.

    An existing target is kept, and `path` is deleted. Raises SourceError if the target cannot be written, and DiskFull
    if its disk is full.
    """
    refuse_links([target])
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:  # including FileExistsError: a file in place of a folder
        raise written_badly(target.parent, error) from error
    try:
        _move(path, target)
    except FileExistsError:
        logger.warning("%s is there by now and is left as it is", target)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    except OSError as error:
        raise written_badly(target, error) from error


def _move(path: Path, target: Path) -> None:
    """Move a file or folder. Raises FileExistsError if the target exists."""
    if is_there(target):
        raise FileExistsError(target)
    try:
        _place(path, target)
    except OSError as error:
        if error.errno != errno.EXDEV:  # EXDEV: a folder below `data` is on another disk
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
        os.replace(path, target)  # fails if the target is a file or a folder that is not empty
        return
    try:
        os.link(path, target)  # fails if the target exists
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP):  # other errors than a disk without hard links
            raise
        os.replace(path, target)
        return
    path.unlink()


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def refuse_links(targets: Iterable[Path]) -> None:
    """Raise SourceError if a target is a link to nothing, a link to an empty folder, or an empty mounted disk."""
    for target in targets:
        if target.is_symlink() and not target.exists():
            raise SourceError(f"{target} is a link to {os.readlink(target)}, where nothing is; delete or mend the link")
        if not is_there(target) and (target.is_symlink() or target.is_mount()):
            kind = "a link to an empty folder" if target.is_symlink() else "an empty disk"
            raise SourceError(f"{target} is {kind}, in whose place no folder can be put; fill it by hand or delete it")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold a lock, and log a message if it has to be waited for."""
    from filelock import FileLock, Timeout  # imported here, because making a plan needs Snakemake only

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
    """Yield the lines that describe a source before it is fetched."""
    size = "size unknown" if source.bytes is None else _size(source.bytes)
    where = f"{source.repository}, revision {source.revision}" if source.repository else " or ".join(source.addresses)
    yield f"  {source.name}: {source.what} ({size}; licence: {source.licence})"
    yield f"    -> {', '.join(source.places)}"
    if source.by_hand:
        yield f"    {source.by_hand}"
    else:
        yield f"    from {where}{'' if source.seen or source.repository else ' (an address that nobody could check)'}"


def _size(size: int) -> str:
    """Return a number of bytes as text in MB or GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())
