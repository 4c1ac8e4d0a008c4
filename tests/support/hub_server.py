"""A server on the loopback that takes repositories as a model hub does: creation, large files by LFS, commits."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

TOKEN, OWNER = "hf_secret_of_the_test", "me"
LARGE = (".safetensors", ".parquet")


class HubServer(ThreadingHTTPServer):
    """Keeps the files and the visibility of each repository. Only TOKEN is known, and it may write to OWNER only."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.visibility: dict[str, str] = {}
        self.files: dict[str, dict[str, bytes]] = {}
        self.large: dict[str, bytes] = {}
        self.too_large: int | None = None
        """size in bytes of files that are refused"""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def hub(patch: pytest.MonkeyPatch, token: str | None = TOKEN) -> Iterator[HubServer]:
    """Run a server that huggingface_hub takes for the hub, with this token in the environment."""
    server = HubServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    for name in ("ENDPOINT", "HF_HUB_DISABLE_XET", "HF_TOKEN_PATH"):
        value = {"ENDPOINT": server.address, "HF_HUB_DISABLE_XET": True, "HF_TOKEN_PATH": "/nonexistent"}[name]
        patch.setattr(f"huggingface_hub.constants.{name}", value)
    patch.setenv("HF_TOKEN", token) if token else patch.delenv("HF_TOKEN", raising=False)
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: HubServer

    def do_PUT(self) -> None:
        content = self.body()
        known = hashlib.sha256(content).hexdigest() == self.path.rpartition("/")[2]
        self.server.large[self.path.rpartition("/")[2]] = content
        self.answer(200 if known else 400, {})

    def do_POST(self) -> None:
        body = self.body()
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "Invalid credentials"})
        elif self.path == "/api/repos/create":
            self.create(json.loads(body))
        elif self.path == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif place := re.fullmatch(r"/api/(models|datasets)/(.+)/(preupload|commit)/main", self.path):
            kind, name, action = place.groups()
            (self.preupload if action == "preupload" else self.commit)(f"{kind}/{name}", body)
        elif self.path.endswith(".git/info/lfs/objects/batch"):
            self.batch(json.loads(body))
        else:
            self.answer(404, {"error": "Not found"})

    def create(self, wanted: dict) -> None:
        name = f"{wanted.get('type', 'model')}s/{wanted['organization']}/{wanted['name']}"
        address = {"url": f"{self.server.address}/{name.removeprefix('models/')}"}
        if wanted["organization"] != OWNER:
            self.answer(403, {"error": "You don't have the rights"})
        elif name in self.server.visibility:
            self.answer(409, {"error": "You already created this repo", **address})
        else:
            self.server.visibility[name] = wanted.get("visibility", "public")
            self.answer(200, address)

    def preupload(self, name: str, body: bytes) -> None:
        files = json.loads(body)["files"]
        if self.server.too_large and any(file["size"] >= self.server.too_large for file in files):
            self.answer(413, {"error": "Payload too large"})
            return
        modes = {True: "lfs", False: "regular"}
        facts = [
            {
                "path": file["path"],
                "uploadMode": modes[file["path"].endswith(LARGE)],
                "shouldIgnore": False,
                "oid": None,
            }
            for file in files
        ]
        self.answer(200, {"files": facts})

    def batch(self, wanted: dict) -> None:
        objects = [
            {**one, "actions": {"upload": {"href": f"{self.server.address}/lfs/{one['oid']}"}}}
            for one in wanted["objects"]
        ]
        self.answer(200, {"transfer": "basic", "objects": objects})

    def commit(self, name: str, body: bytes) -> None:
        files = self.server.files.setdefault(name, {})
        for line in body.splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
        commit = {"commitUrl": f"{self.server.address}/{name}/commit/{'0' * 40}", "commitOid": "0" * 40}
        self.answer(200, {"success": True, **commit})

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content = b""
        while size := int(self.rfile.readline(), 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return content

    def answer(self, status: int, content: dict) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if "error" in content:
            self.send_header("X-Error-Message", content["error"])
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass
