"""Files and folders in a bucket of S3, or of a server with the same interface, fetched by boto3.

A config names them as s3://BUCKET/KEY. The server and the credentials are the settings of Snakemake's storage plug-in,
so that a run whose results are in a bucket needs no others. Without them, boto3's own settings hold, and without
credentials the bucket is read as everybody may read it.
"""

import hashlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from captionlab.jobs.progress import progress
from captionlab.sources.table import BUCKETS, SourceError, written_badly
from captionlab.sources.unpacking import check_room

SETTINGS = "SNAKEMAKE_STORAGE_S3_"
KEYS = f"{SETTINGS}ACCESS_KEY and {SETTINGS}SECRET_KEY, or those of AWS"
AT_ONCE = 16  # objects
CHUNK = 2**20  # bytes
_REFUSED = f"the bucket may not be read with these credentials; correct {KEYS}"
_REASONS = {
    "NoSuchBucket": f"the server has no such bucket; correct the name, or the server ({SETTINGS}ENDPOINT_URL)",
    "PreconditionFailed": "a file was replaced while it was fetched; run again",
    **dict.fromkeys(("403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch"), _REFUSED),
}


class Item(NamedTuple):
    """An object in a bucket. `name` is its path below the folder that is fetched, or "" if it is fetched alone."""

    key: str
    name: str
    size: int
    tag: str


def fetch(address: str, staging: Path) -> tuple[Path, dict[str, Any]]:
    """Fetch a file or folder of a bucket. Return its path below the folder `staging`, and its entry for the lock file.

    An interrupted transfer goes on where it stopped, if the bucket has the same objects. Raises SourceError if the
    bucket cannot be read or has no such file or folder, and DiskFull if there is too little room.
    """
    client = connected()
    items = listed(address, client)
    folder = _folder(address, items, staging)
    try:
        (folder / "parts").mkdir(parents=True, exist_ok=True)
        size = sum(item.size for item in items)
        check_room(size - sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()), staging)
        _fetch_all(client, _bucket_and_key(address)[0], items, folder)
    except OSError as error:
        raise written_badly(staging, error) from error
    shutil.rmtree(folder / "parts")
    whole, what = folder / "whole", {"from": address, "files": len(items), "size": size}
    if whole.is_file():
        with open(whole, "rb") as file:
            what["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return whole, what


def _folder(address: str, items: list[Item], staging: Path) -> Path:
    """Return the folder of a transfer, and delete those of the same address with other objects."""
    names = [hashlib.sha256(repr(value).encode()).hexdigest()[:16] for value in (address, items)]
    folder = staging / "-".join(["bucket", *names])
    for other in staging.glob(f"bucket-{names[0]}-*"):
        if other != folder:
            shutil.rmtree(other)
    return folder


def connected() -> Any:
    """Return a client of S3. Raises SourceError if boto3 is not installed."""
    try:
        import boto3  # type: ignore[import-untyped]
        from botocore import UNSIGNED  # type: ignore[import-untyped]
        from botocore.config import Config  # type: ignore[import-untyped]
    except ModuleNotFoundError as error:
        raise SourceError("files in buckets need boto3: pip install 'captionlab[s3]'") from error
    setting = {name: os.environ.get(f"{SETTINGS}{name}") for name in ("ENDPOINT_URL", "REGION", "TOKEN")}
    session = boto3.Session(
        aws_access_key_id=os.environ.get(f"{SETTINGS}ACCESS_KEY"),
        aws_secret_access_key=os.environ.get(f"{SETTINGS}SECRET_KEY"),
        aws_session_token=setting["TOKEN"],
        region_name=setting["REGION"],
    )
    options: dict[str, Any] = {"retries": {"max_attempts": 5, "mode": "standard"}, "max_pool_connections": AT_ONCE}
    if session.get_credentials() is None:
        options["signature_version"] = UNSIGNED
    return session.client("s3", endpoint_url=setting["ENDPOINT_URL"], config=Config(**options))


def listed(address: str, client: Any) -> list[Item]:
    """Return the object at an address, or the objects in the folder of this name.

    Raises SourceError if there is neither, if the bucket cannot be read, or if a name would leave its folder.
    """
    from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

    bucket, key = _bucket_and_key(address)
    folder = f"{key}/" if key else ""
    try:
        if key and (alone := _object(client, bucket, key)):
            return [alone]
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=folder)
        found = [entry for page in pages for entry in page.get("Contents", ()) if not entry["Key"].endswith("/")]
    except (ClientError, BotoCoreError) as error:
        raise SourceError(reason(error)) from error
    items = [Item(entry["Key"], entry["Key"].removeprefix(folder), entry["Size"], entry["ETag"]) for entry in found]
    if not items:
        raise SourceError("the bucket has no file and no folder of this name")
    if leaving := [item.key for item in items if item.name.startswith("/") or ".." in item.name.split("/")]:
        raise SourceError(f"it has a file {leaving[0]!r}, which would leave its folder")
    return items


def _bucket_and_key(address: str) -> tuple[str, str]:
    bucket, _, key = address.removeprefix(BUCKETS).partition("/")
    return bucket, key.rstrip("/")


def _object(client: Any, bucket: str, key: str) -> Item | None:
    """Return an object by its key, or None if there is none."""
    from botocore.exceptions import ClientError

    try:
        answer = client.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response["Error"]["Code"] == "404":
            return None
        raise
    return Item(key, "", answer["ContentLength"], answer["ETag"])


def _fetch_all(client: Any, bucket: str, items: list[Item], folder: Path) -> None:
    from botocore.exceptions import BotoCoreError, ClientError

    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        work = pool.map(partial(_fetch_one, client, bucket, folder), range(len(items)), items)
        for _ in progress(work, what="files", total=len(items)):
            pass
    except (ClientError, BotoCoreError) as error:
        raise SourceError(reason(error)) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _fetch_one(client: Any, bucket: str, folder: Path, number: int, item: Item) -> None:
    """Fetch an object, or the rest of it, and put it in place when it is complete."""
    from botocore.exceptions import HTTPClientError

    part, target = folder / "parts" / str(number), folder / "whole" / item.name
    if target.exists():
        return
    part.touch()
    while (had := part.stat().st_size) < item.size:
        try:
            answer = client.get_object(Bucket=bucket, Key=item.key, IfMatch=item.tag, Range=f"bytes={had}-")
            with open(part, "ab") as file:
                for chunk in answer["Body"].iter_chunks(CHUNK):
                    file.write(chunk)
        except HTTPClientError:  # a connection that broke
            if part.stat().st_size == had:
                raise
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(part, target)


def reason(error: Any) -> str:
    """Return in a sentence why a bucket cannot be read."""
    code = str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))
    return _REASONS.get(code) or " ".join(str(error).split())
