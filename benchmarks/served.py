"""Time captionlab's client of servers against plain clients of the package openai, on the same server and images.

    python benchmarks/served.py [--images 200] [--concurrency 32] [--delay 0.05] [--side 320] [--rounds 5]
    python benchmarks/served.py --url http://127.0.0.1:8000/v1 --model NAME

Without --url, the server is a process of its own that answers each request after a delay. Images are photograph-like
JPEGs. The plain client is `asyncio.gather` over `openai.AsyncOpenAI` with a semaphore, which reads and encodes an image
when its turn comes; the client `ready` has encoded all images before the clock starts, which no run can. captionlab's
cache of responses is empty. The clients take turns in each round; ratios are of requests per second, by round.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import openai
from PIL import Image

from captionlab.config.served import Served
from captionlab.served.client import Client
from captionlab.served.requests import Picture, Request

PARAMETERS = {"max_tokens": 16, "temperature": 0.0}
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "stand-in",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "a dog"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
}


def serve(delay: float, ready: Connection) -> None:
    """Answer all requests after a delay, on a port that is sent to `ready`."""
    content = json.dumps(ANSWER).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
                (length,) = (int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
                await reader.readexactly(length)
                await asyncio.sleep(delay)
                writer.write(head.encode() + content)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=2**20, backlog=1000)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def write_images(folder: Path, number: int, side: int) -> list[dict[str, Any]]:
    """Write smooth images with a little noise, as photographs have, and return their rows of IMAGES."""
    generator = np.random.default_rng(0)
    rows = []
    for index in range(number):
        coarse = Image.fromarray(generator.integers(0, 256, (6, 8, 3), dtype=np.uint8))
        smooth = np.asarray(coarse.resize((side, side * 3 // 4), Image.Resampling.BICUBIC), dtype=float)
        pixels = np.clip(smooth + generator.normal(0, 5, smooth.shape), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{index}.jpg", quality=90)
        rows.append({"path": str(folder / f"{index}.jpg"), "offset": None, "length": None, "data": None})
    return rows


def plain(served: Served, bodies: Sequence[Callable[[], Mapping[str, Any]]]) -> None:
    """Send requests by the package openai alone."""

    async def run() -> None:
        limit = asyncio.Semaphore(served.concurrency)
        async with openai.AsyncOpenAI(base_url=served.url, api_key="none") as client:

            async def one(body: Callable[[], Mapping[str, Any]]) -> str:
                async with limit:
                    response = await client.chat.completions.create(**body())
                    return str(response.choices[0].message.content)

            await asyncio.gather(*map(one, bodies))

    asyncio.run(run())


def captionlab(served: Served, requests: Sequence[Request]) -> None:
    """Send requests by captionlab, with an empty cache."""
    with TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        Client(served, "benchmark").ask(requests)


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds that some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def spread(numbers: Sequence[float]) -> str:
    """Return least, median and largest number."""
    return f"{min(numbers):.3f} / {statistics.median(numbers):.3f} / {max(numbers):.3f}"


def compare(served: Served, requests: Sequence[Request], rounds: int) -> None:
    """Print requests per second of each client, and the ratios of captionlab to the others."""
    ready = [request.body(served.model) for request in requests]
    ways = {
        "captionlab": lambda: captionlab(served, requests),
        "plain": lambda: plain(served, [lambda request=request: request.body(served.model) for request in requests]),
        "ready": lambda: plain(served, [lambda body=body: body for body in ready]),
    }
    times = [{name: seconds(way) for name, way in ways.items()} for _ in range(rounds + 1)][1:]
    for name in ways:
        print(f"{name}: {spread([len(requests) / each[name] for each in times])} requests a second")
    for name in ("plain", "ready"):
        print(f"captionlab to {name}: {spread([each[name] / each['captionlab'] for each in times])}")


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, default in {"images": 200, "concurrency": 32, "delay": 0.05, "side": 320, "rounds": 5}.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"{default} by default")
    parser.add_argument("--url", help="address of a server in place of the one with a delay")
    parser.add_argument("--model", default="stand-in", help="model of the server")
    asked = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(asked.delay, sender), daemon=True)
    url = asked.url
    if not url:
        server.start()
        url = f"http://127.0.0.1:{receiver.recv()}/v1"
    with TemporaryDirectory() as folder:
        rows = write_images(Path(folder), asked.images, asked.side)
        requests = [Request([("user", [Picture(row, 1024), "describe it"])], PARAMETERS) for row in rows]
        compare(Served(url=url, model=asked.model, concurrency=asked.concurrency), requests, asked.rounds)


if __name__ == "__main__":
    main()
