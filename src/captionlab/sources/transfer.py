"""Transfers of files from an address, which resume where an earlier transfer stopped, based on huggingface_hub.

`http_get` of huggingface_hub requests the rest of a file (Range), retries when a connection breaks, and supports
proxies and certificates through the environment variables of httpx. pooch and Snakemake's plug-in for HTTP restart from
the beginning.
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

from captionlab.jobs.progress import Bar
from captionlab.sources.table import DiskFull, SourceError
from captionlab.sources.unpacking import check_room

_PLAIN = {"Accept-Encoding": "identity"}  # so that the stated size is the size of the file
_PAGE = re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE)


@dataclass(frozen=True)
class Remote:
    """A file on a server, as the server describes it before the transfer."""

    address: str
    size: int | None = None
    tag: str | None = None
    """its ETag or date, by which a transfer that goes on knows that it is still the same file"""
    sha256: str | None = None
    commit: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


def look(address: str) -> Remote:
    """Return what a server states about a file: size and ETag or date.

    Fields are None if the server does not state them, for example because it does not support HEAD.
    """
    try:
        answer = get_session().head(address, headers=_PLAIN, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT)
    except (httpx2.HTTPError, OfflineModeIsEnabled):
        return Remote(address)
    if not answer.is_success:
        return Remote(address)
    size = answer.headers.get("Content-Length", "")
    tag: str | None = answer.headers.get("ETag")
    # A weak ETag does not guarantee equal bytes.
    tag = answer.headers.get("Last-Modified") if not tag or tag.startswith("W/") else tag
    return Remote(address, int(size) if size.isdigit() else None, tag)


def look_on_hub(repository: str, kind: str, revision: str, file: str) -> Remote:
    """Return what the hub states about a file of a repository, with its sha256 if it is stored as a large file.

    Raises SourceError if the hub cannot be asked.
    """
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
    """A repository of the hub at one commit: its licence and the size in bytes of each file, without hidden files.

    For a model, only the files that transformers reads are listed, because many repositories also have the same weights
    in other formats.
    """

    commit: str
    licence: str | None
    files: dict[str, int]


def look_at_repository(repository: str, kind: str, revision: str) -> Repository:
    """Return what the hub states about a repository as a whole.

    Raises SourceError if the hub cannot be asked, if the repository has no files, or if a file name would leave its
    folder.
    """
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
    """Fetch a file into a folder and return its path; an earlier partial transfer of the same file is continued.

    Raises SourceError if the file cannot be fetched, and DiskFull if the disk is full. The bytes fetched so far are
    kept for the next transfer.
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
    """Delete the partial files of other addresses or versions of a file, after the file was fetched and checked."""
    name = path.name.rsplit(".", 2)[0]
    for other in path.parent.glob(f"{escape(name)}.{'[0-9a-f]' * 16}.partial"):
        if other != path:
            other.unlink()


def checked(path: Path, sha256: str | None, size: int | None, whose: str) -> str:
    """Return the sha256 of a fetched file.

    Raises SourceError if the file is a web page, or if its sha256 or its size in bytes is not as expected. `whose`
    names where the expected values come from.
    """
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
    """Return in a few words why an address could not be fetched."""
    if isinstance(error, OfflineModeIsEnabled):
        return f"{address} is not asked, as HF_HUB_OFFLINE is set"
    if isinstance(error, HfHubHTTPError) and error.response is not None:
        return f"{address} answered {error.response.status_code} {error.response.reason_phrase}".rstrip()
    if isinstance(error, httpx2.TimeoutException):
        return f"{address} did not answer in time"
    return f"{address} cannot be had ({str(error).splitlines()[0] if str(error) else type(error).__name__})"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
