"""Jobs that ask models behind servers: jobs that are killed, and keys that stand in no file."""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.chat_server import HTML, Reply, chat, chat_server, refusal, texts_of
from support.records import python_path

SOURCE = Path(__file__).parents[2] / "src"
KEY = "sk-very-secret-0123456789"
# A job: its arguments are the number of requests, how many are sent at the same time, and addresses of servers.
JOB = """
import logging, sys, traceback
from captionlab.config.served import Served
from captionlab.served.client import Client, ServerError
from captionlab.served.requests import Request
logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(message)s")
number, concurrency, *urls = sys.argv[1:]
for url in urls:
    keys = {"concurrency": int(concurrency), "api_key_variable": "THE_KEY", "retries": 1, "max_failed": 0.5}
    requests = [Request([("user", [f"question {index}"])]) for index in range(int(number))]
    try:
        answers = Client(Served(url=url, model=f"tiny of {url}", **keys), "captioners.tiny").ask(requests)
        print([getattr(answer, "text", answer) for answer in answers])
    except ServerError as error:
        traceback.print_exc()
        logging.exception("failed")
"""


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "home").mkdir()
    home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return {**os.environ, **home, "THE_KEY": KEY, "PYTHONPATH": python_path(SOURCE)}


def job(number, concurrency, *urls, **options):
    command = [sys.executable, "-c", JOB, str(number), str(concurrency), *urls]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_job_that_was_killed_asks_nothing_twice(environment):
    """Only requests that were under way at the kill are asked twice."""
    concurrency, number = 8, 200
    with chat_server(lambda body: chat(texts_of(body)[0][1].upper(), delay=0.03)) as server:
        with job(number, concurrency, server.url, env=environment) as process:
            end = time.monotonic() + 300
            while len(server.bodies) < 80 and time.monotonic() < end and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        asked = len(server.bodies)
        assert 80 <= asked < number
        with job(number, concurrency, server.url, env=environment) as process:
            output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        assert output == f"{[f'QUESTION {index}' for index in range(number)]}\n"
        twice = [body for body, times in server.counts().items() if times > 1]
        assert len(server.counts()) == number
        assert len(twice) <= concurrency
        assert max(server.counts().values()) <= 2
        with job(number, concurrency, server.url, env=environment) as process:
            process.communicate(timeout=300)
        assert len(server.bodies) == number + len(twice)


def long_page(body):
    """Return a page in which the key is where messages are cut."""
    return Reply(f"<html>{'x' * 46}{KEY}</html>".encode())


ECHOES = {
    "401": refusal(401, f"Incorrect API key provided: {KEY}"),
    "403": refusal(403, f"{KEY} may not"),
    "404": refusal(404, f"{KEY} knows no such model"),
    "400": refusal(400, f"Authorization: Bearer {KEY}"),
    "400 at the cut": refusal(400, "x" * 230 + KEY),
    "500": refusal(500, f"Authorization: Bearer {KEY}", retry_after_ms="1"),
    "HTML": Reply(HTML.content + KEY.encode()),
    "HTML at the cut": long_page,
    "without choices": Reply(f'{{"headers": "Bearer {KEY}"}}'.encode()),
    "without choices, at the cut": Reply(f'{{"headers": "{"x" * 75}{KEY}"}}'.encode()),
    "an answer": chat("a dog", model=f"tiny for {KEY}", fingerprint=KEY),
}


def test_key_stands_in_no_file_and_in_no_output(environment, tmp_path):
    with ExitStack() as stack:
        servers = [stack.enter_context(chat_server(echo)) for echo in ECHOES.values()]
        process = stack.enter_context(job(3, 1, *(server.url for server in servers), env=environment, cwd=tmp_path))
        output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    assert {server.headers[0]["authorization"] for server in servers} == {f"Bearer {KEY}"}
    assert output == f"{['a dog'] * 3}\n"
    assert errors.count("captionlab.served.client.ServerError: ") == 2 * (len(ECHOES) - 1)
    assert "(key)" in errors  # in the place of the key
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert len(written) == 3
    for text in (output.encode(), errors.encode(), *written.values(), *(str(path).encode() for path in written)):
        assert KEY[:8].encode() not in text
