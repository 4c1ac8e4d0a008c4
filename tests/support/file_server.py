"""An HTTP server on the loopback that behaves as servers of data do, well and badly; a stand-in of the hub too."""

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class FileServer(ThreadingHTTPServer):
    """Serves `files` by path, with ETag and Range."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes | Path] = {}
        self.redirects: dict[str, str] = {}
        self.cuts: dict[str, list[int]] = {}
        """how many bytes are sent of a path before the connection breaks, once for each number"""
        self.pauses: dict[str, float] = {}
        """seconds before each 1,000 bytes"""
        self.commits: dict[str, str] = {}
        """of the hub's repositories"""
        self.asked: list[tuple[str, str, str]] = []
        """method, path and Range of each request"""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def content(self, path: str) -> bytes | None:
        found = self.files.get(path)
        return found.read_bytes() if isinstance(found, Path) else found

    def commit(self, repository: str, revision: str) -> str:
        """The commit of a branch of a repository, which moves when `commits` does; or the one that is asked for."""
        return revision if len(revision) == 40 else self.commits.get(repository, "0" * 40)

    def size(self, path: str) -> int:
        return len(self.content(path) or b"")

    def gets(self) -> Counter[str]:
        """How often each path was asked for, but for what was said of it alone."""
        return Counter(path for method, path, _ in self.asked if method == "GET")


@contextmanager
def serving() -> Iterator[FileServer]:
    server = FileServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FileServer

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        path, server = self.path, self.server
        server.asked.append((self.command, path, self.headers.get("Range", "")))
        if path in server.redirects:
            self.head(302, {"Location": server.redirects[path]})
            return
        extra: dict[str, str] = {}
        if path.startswith("/api/datasets/"):
            content = self.repository(path)
        elif "/resolve/" in path:
            repository, _, rest = path.strip("/").partition("/resolve/")
            revision, _, file = rest.partition("/")
            extra["X-Repo-Commit"] = server.commit(repository, revision)
            content = server.content(f"/{repository}/{file}")
        else:
            content = server.content(path)
        if content is None:
            self.head(404, {})
            return
        tag = f'"{hashlib.sha256(content).hexdigest()}"'
        asked, start, status = self.headers.get("Range"), 0, 200
        if asked and self.headers.get("If-Range", tag) == tag:
            start, status = int(asked.removeprefix("bytes=").partition("-")[0]), 206
            extra["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.head(status, {"ETag": tag, "Accept-Ranges": "bytes", **extra}, len(content) - start)
        if self.command == "GET":
            self.send(path, content[start:])

    def repository(self, path: str) -> bytes:
        """What the hub says of a data set: its commit, its licence, and the size of each of its files."""
        name, _, asked = path.removeprefix("/api/datasets/").partition("?")[0].partition("/revision/")
        above = f"/datasets/{name}/"
        sizes = {key.removeprefix(above): self.server.size(key) for key in self.server.files if key.startswith(above)}
        files = [{"rfilename": file, "size": size} for file, size in sizes.items()]
        sha = self.server.commit(f"datasets/{name}", asked)
        return json.dumps({"id": name, "sha": sha, "siblings": files, "cardData": {"license": "cc0-1.0"}}).encode()

    def send(self, path: str, content: bytes) -> None:
        cuts, pause = self.server.cuts.get(path, []), self.server.pauses.get(path, 0)
        cut = cuts.pop(0) if cuts else len(content)
        step = 1000 if pause else max(cut, 1)
        for at in range(0, cut, step):
            time.sleep(pause)
            try:
                self.wfile.write(content[at : min(at + step, cut)])
            except OSError:  # nobody waits for it any more
                break
        self.close_connection = cut < len(content)

    def head(self, status: int, headers: dict[str, str], length: int = 0) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
