"""`transformers serve`, a real server with OpenAI's interface of chats, on the loopback."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Importing transformers takes 10 s on a busy machine, and a server that starts imports all of it.
START_SECONDS = 240


@contextmanager
def transformers_serve(model: Path, log: Path, port: int | None = None) -> Iterator[str]:
    """Serve the model in a folder within the block; the value is the address, with /v1 at its end.

    Requests name the model by its folder. The server ends with the block. If it does not start, the error has its log.
    """
    port = port or _free_port()
    command = [Path(sys.executable).with_name("transformers"), "serve", model]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
    try:
        _wait(process, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"transformers serve did not start:\n{log.read_text(encoding='utf-8', errors='replace')}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
