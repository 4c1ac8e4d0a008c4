"""Files from an address: resumed where a transfer was cut, by the well-kept parts of huggingface_hub.

Its `http_get` asks for what is left of a file (Range), waits and goes on when a connection breaks, and knows proxies
and certificates by the environment variables of httpx. pooch and Snakemake's plug-in for HTTP begin anew each time.
"""

import errno
import hashlib
import re
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, constants, get_hf_file_metadata, get_session, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.file_download import http_get
from huggingface_hub.utils import build_hf_headers

from captionlab.progress import Bar
from captionlab.sources.table import DiskFull, SourceError
from captionlab.sources.unpacking import check_room

_PLAIN = {"Accept-Encoding": "identity"}  # sizes are those of the file
_PAGE = re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE)


@dataclass(frozen=True)
class Remote:
    """A file on a server, as the server describes it before it is fetched."""

    address: str
    size: int | None = None
    tag: str | None = None
    """its ETag or date, by which a transfer that goes on knows that it is still the same file"""
    sha256: str | None = None
    commit: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


def look(address: str) -> Remote:
    """What a server says of a file; an empty description where it does not say, as some know no HEAD."""
    try:
        answer = get_session().head(address, headers=_PLAIN, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT)
    except (httpx2.HTTPError, OfflineModeIsEnabled):
        return Remote(address)
    if not answer.is_success:
        return Remote(address)
    size = answer.headers.get("Content-Length", "")
    tag: str | None = answer.headers.get("ETag")
    # A weak tag does not promise the same bytes.
    tag = answer.headers.get("Last-Modified") if not tag or tag.startswith("W/") else tag
    return Remote(address, int(size) if size.isdigit() else None, tag)


def look_on_hub(repository: str, kind: str, revision: str, file: str) -> Remote:
    """What the hub says of a file of a repository; where it is kept as a large file, its checksum too."""
    address = hf_hub_url(repository, file, repo_type=kind, revision=revision)
    try:
        told = get_hf_file_metadata(address)
    except (httpx2.HTTPError, OSError) as error:
        raise SourceError(reason(address, error)) from error
    sha256 = told.etag if told.etag and re.fullmatch("[0-9a-f]{64}", told.etag) else None
    return Remote(address, told.size, told.etag, sha256, told.commit_hash, build_hf_headers())


_OF_MODEL = re.compile(r"[^/]+\.(safetensors|json|jinja|txt|model)")


@dataclass(frozen=True)
class Repository:
    """A repository of the hub at one commit: its licence, and the bytes of each of its files, hidden ones aside.

    Of a model those alone that transformers reads: many have the same weights in other formats beside them.
    """

    commit: str
    licence: str | None
    files: dict[str, int]


def look_at_repository(repository: str, kind: str, revision: str) -> Repository:
    """What the hub says of a repository as a whole; a SourceError says why it cannot be asked."""
    api = HfApi(endpoint=constants.ENDPOINT)
    info = api.dataset_info if kind == "dataset" else api.model_info
    try:
        told = info(repository, revision=revision, files_metadata=True)
    except (httpx2.HTTPError, OSError) as error:
        raise SourceError(reason(f"{constants.ENDPOINT}/{repository}", error)) from error
    files = {file.rfilename: file.size or 0 for file in told.siblings or [] if not file.rfilename.startswith(".")}
    if kind == "model":
        files = {name: size for name, size in files.items() if _OF_MODEL.fullmatch(name)}
    if not files:
        raise SourceError(f"{constants.ENDPOINT}/{repository} has no file at {told.sha}")
    if leaving := [name for name in files if name.startswith("/") or ".." in name.split("/")]:
        raise SourceError(f"{constants.ENDPOINT}/{repository} has a file {leaving[0]!r}, which would leave its folder")
    licence = told.card_data.get("license") if told.card_data else None
    return Repository(str(told.sha), licence, files)


def transfer(remote: Remote, folder: Path, name: str) -> Path:
    """Fetch a file into a folder; what is there of an earlier transfer of the same file is kept. Returns its path.

    A SourceError says why it cannot be had; what came of it stays, so that the next transfer goes on.
    """
    if constants.is_offline_mode():
        raise SourceError(f"{remote.address} is not asked, as HF_HUB_OFFLINE is set")
    same = hashlib.sha256(repr((remote.address, remote.tag, remote.size)).encode()).hexdigest()[:16]
    partial = folder / f"{name}.{same}.partial"
    if not remote.tag or (remote.size is not None and _size(partial) > remote.size):
        partial.unlink(missing_ok=True)
    headers = {**_PLAIN, **remote.headers}
    if remote.tag and not remote.commit:
        headers["If-Range"] = remote.tag
    check_room((remote.size or 0) - _size(partial), folder)
    while remote.size is None or _size(partial) != remote.size:
        had = _size(partial)
        try:
            with open(partial, "ab") as file:
                http_get(
                    remote.address, file, resume_size=had, headers=headers, displayed_filename=name, tqdm_class=Bar
                )
            break
        except (httpx2.HTTPError, OSError) as error:
            refused = isinstance(error, HfHubHTTPError) and error.response.status_code == 416  # no such range
            if refused or not _size(partial):
                partial.unlink()
            if refused and had:
                continue
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                text = f"the disk that holds {folder} is full; make room and run again: what came of {name} stays"
                raise DiskFull(text) from error
            if not isinstance(error, httpx2.TransportError) or _size(partial) <= had:
                raise SourceError(reason(remote.address, error)) from error
    return partial


def drop_others(path: Path) -> None:
    """Delete what came of a file by other addresses, or of it as it was before, once it is here and checked."""
    name = path.name.rsplit(".", 2)[0]
    for other in path.parent.glob(f"{escape(name)}.{'[0-9a-f]' * 16}.partial"):
        if other != path:
            other.unlink()


def checked(path: Path, sha256: str | None, size: int | None, whose: str) -> str:
    """The sha256 of a file that was fetched; a SourceError where that, or its size in bytes, is not as expected."""
    with open(path, "rb") as file:
        if _PAGE.match(file.read(64)):
            raise SourceError("a web page came in place of the file: its address may ask for a log-in or a click")
        file.seek(0)
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if size is not None and _size(path) != size:
        raise SourceError(f"{_size(path)} bytes came, and {whose} has {size}")
    if sha256 is not None and found != sha256:
        raise SourceError(f"what came has sha256 {found}, and {whose} has {sha256}")
    return found


def reason(address: str, error: Exception) -> str:
    """Why an address could not be had, in a few words."""
    if isinstance(error, OfflineModeIsEnabled):
        return f"{address} is not asked, as HF_HUB_OFFLINE is set"
    if isinstance(error, HfHubHTTPError) and error.response is not None:
        return f"{address} answered {error.response.status_code} {error.response.reason_phrase}".rstrip()
    if isinstance(error, httpx2.TimeoutException):
        return f"{address} did not answer in time"
    return f"{address} cannot be had ({str(error).splitlines()[0] if str(error) else type(error).__name__})"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
