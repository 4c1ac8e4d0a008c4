"""A bucket: moto's S3 server on the loopback, in a process of its own, and the settings that lead to it."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

SETTINGS = "SNAKEMAKE_STORAGE_S3_"
KEY, SECRET = "AKIACAPTIONLABTESTS", "xk2Z9wQ7-a-secret-that-is-nowhere"


# What Snakemake 9.27 may say of results in a bucket when it is started after a kill; the next start goes on.
START_AGAIN = "ProtectedOutputException"


class Bucket:
    """A bucket on a server, and the environment in which Snakemake and captionlab find it."""

    def __init__(self, address: str, name: str = "bucket"):
        self.address, self.name = address, name
        self.client = boto3.client(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            config=Config(retries={"max_attempts": 0}),
        )

    @property
    def environment(self) -> dict[str, str]:
        values = {"ENDPOINT_URL": self.address, "ACCESS_KEY": KEY, "SECRET_KEY": SECRET}
        return {**os.environ, **{f"{SETTINGS}{name}": value for name, value in values.items()}}

    def sizes(self, prefix: str = "") -> dict[str, int]:
        """Names of the objects below a prefix, with their bytes."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return {item["Key"].removeprefix(prefix): item["Size"] for page in pages for item in page.get("Contents", [])}

    def read(self, key: str) -> bytes:
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def put(self, folder: Path, prefix: str) -> None:
        """Copy the files of a folder into the bucket."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                key = f"{prefix}{path.relative_to(folder)}"
                self.client.put_object(Bucket=self.name, Key=key, Body=path.read_bytes())


@contextmanager
def serving_bucket(log: Path) -> Iterator[Bucket]:
    """A server with an empty bucket; what is asked of it is in the log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(log, "w", encoding="utf-8") as output:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        bucket = Bucket(f"http://127.0.0.1:{port}")
        deadline = time.monotonic() + 60
        while True:
            try:
                bucket.client.create_bucket(Bucket=bucket.name)
                break
            except (BotoCoreError, ClientError):
                if time.monotonic() > deadline or process.poll() is not None:
                    raise
                time.sleep(0.2)
        yield bucket
    finally:
        process.kill()
        process.wait()
