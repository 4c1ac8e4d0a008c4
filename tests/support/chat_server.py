"""A server with OpenAI's interface of chats on the loopback, whose script decides each answer, good or bad."""

import base64
import io
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

Body = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer as bytes of HTTP, and faults of the way that it is sent."""

    content: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    """seconds before the reply"""
    cut: bool = False
    """whether only half of the content is sent before the connection breaks"""


class Hang:
    """No answer, until the server closes."""


Answer = str | Reply | Hang
# An answer to all requests, answers in the order of arrival (the last one repeats), or an answer computed from a body.
Script = Answer | Sequence[Answer] | Callable[[Body], Answer]


def chat(
    text: str | None,
    *,
    usage: tuple[int, int] | None = (10, 5),
    logprobs: Sequence[Mapping[str, float]] | None = None,
    finish_reason: str = "stop",
    fingerprint: str | None = None,
    model: str = "stand-in",
    delay: float = 0.0,
    cut: bool = False,
) -> Reply:
    """Return a response of a chat.

    `usage` is the number of tokens of the prompt and of the answer. `logprobs` are log-probabilities of the likeliest
    tokens, for each token of the answer, the answer's own token first.
    """
    choice: dict[str, Any] = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": finish_reason,
    }
    if logprobs is not None:
        choice["logprobs"] = {"content": [_token(likeliest) for likeliest in logprobs]}
    content: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 0, "model": model}
    content |= {"choices": [choice], "system_fingerprint": fingerprint}
    if usage is not None:
        counts = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
        content["usage"] = counts
    return Reply(json.dumps(content).encode(), delay=delay, cut=cut)


def refusal(status: int, message: str = "no", **headers: str) -> Reply:
    """Return an error; headers are named as in Python, such as retry_after or retry_after_ms."""
    content = json.dumps({"error": {"message": message, "type": "error", "code": status}}).encode()
    return Reply(content, status, {name.replace("_", "-"): value for name, value in headers.items()})


# A page of a proxy, with status 200.
HTML = Reply(b"<html><body>Please log in</body></html>", headers={"Content-Type": "text/html"})
WITHOUT_CHOICES = Reply(b'{"object": "chat.completion", "model": "stand-in"}')


def texts_of(body: Body) -> list[tuple[str, str]]:
    """Return role and text of each text of a request, in order."""
    return [
        (message["role"], part["text"])
        for message in body["messages"]
        for part in _parts(message["content"])
        if part["type"] == "text"
    ]


def images_of(body: Body) -> list[Image.Image]:
    """Return the images of a request, in order, from their data URLs."""
    urls = [
        part["image_url"]["url"]
        for message in body["messages"]
        for part in _parts(message["content"])
        if part["type"] == "image_url"
    ]
    return [Image.open(io.BytesIO(base64.b64decode(url.partition(";base64,")[2], validate=True))) for url in urls]


class ChatServer(ThreadingHTTPServer):
    """Answers `POST /v1/chat/completions` as its script says, and records the requests."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, script: Script):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        """may be changed between requests"""
        self.bodies: list[Body] = []
        """of all requests, in the order of arrival"""
        self.headers: list[dict[str, str]] = []
        """of all requests, names in lower case"""
        self.times: list[float] = []
        """of the arrival of all requests, in seconds of time.monotonic"""
        self.most_at_once = 0
        self.closing = threading.Event()
        self._under_way = 0
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def counts(self) -> Counter[str]:
        """Return how often each body came."""
        with self._lock:
            return Counter(json.dumps(body, sort_keys=True) for body in self.bodies)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that were killed."""

    def arrive(self, body: Body, headers: Mapping[str, str]) -> Answer:
        """Record a request and return its answer by the script."""
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            self.times.append(time.monotonic())
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        if callable(self.script):
            return self.script(body)
        if isinstance(self.script, str | Reply | Hang):
            return self.script
        return self.script[min(number, len(self.script) - 1)]

    def leave(self) -> None:
        """Record that a request is answered."""
        with self._lock:
            self._under_way -= 1


@contextmanager
def chat_server(script: Script = "a dog") -> Iterator[ChatServer]:
    """Run a server in a thread within the block."""
    server = ChatServer(script)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # status, headers and content are sent together
    server: ChatServer

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/chat/completions":
            self._send(refusal(404, f"no path {self.path}"))
            return
        try:
            answer = self.server.arrive(json.loads(content), dict(self.headers))
            if isinstance(answer, Hang):
                self.server.closing.wait()
                self.close_connection = True
                return
            reply = chat(answer) if isinstance(answer, str) else answer
            time.sleep(reply.delay)
        finally:
            self.server.leave()  # before the client knows and sends its next request
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        length = str(len(reply.content))
        for name, value in ({"Content-Type": "application/json", "Content-Length": length} | reply.headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.content[: len(reply.content) // 2] if reply.cut else reply.content)
        self.wfile.flush()
        self.close_connection = reply.cut

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _parts(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _token(likeliest: Mapping[str, float]) -> dict[str, Any]:
    top = [{"token": token, "logprob": value, "bytes": list(token.encode())} for token, value in likeliest.items()]
    return {**top[0], "top_logprobs": top}
