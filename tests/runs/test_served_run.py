"""The workflow with a captioner behind a scripted server: tables, costs, the cache of responses, and no secret."""

import csv
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from support.chat_server import chat, chat_server, images_of, refusal, texts_of
from support.small import start

from captionlab.jobs.tracing import main
from captionlab.storage import paths
from captionlab.storage.schemas import FAILED_REQUESTS, GENERATED
from captionlab.storage.tables import read_metadata, read_table

pytestmark = pytest.mark.slow
SECRET = "sk-5ecre7-0f-a-us3r"


def answer(body):
    """Describe an image by a colour; the server complains about a few images, and echoes the key.

    The answer to a question about a caption is its first option.
    """
    if not images_of(body):
        options = re.search(r"The answer is one of (\[.*\])\.", texts_of(body)[0][1])
        return json.dumps({"answer": json.loads(options[1])[0]})
    red, _, blue = images_of(body)[0].resize((1, 1)).getpixel((0, 0))
    if red % 11 == 5:
        return refusal(400, f"your key {SECRET} may not see this image")
    return chat(
        f"a {'red' if red > blue else 'blue'} picture of {red}. It is nice.", usage=(100, 7), fingerprint="fp-1"
    )


def config(url: str, **keys) -> dict:
    served = {
        "family": "endpoint", "url": url, "model": "tiny", "prompt": "Describe.", "system": "Be brief.",
        "image_size": 48, "answer": {"first_sentence": True}, "parameters": {"min_p": 0.1},
        "api_key_variable": "CAPTIONLAB_TEST_KEY", "price": {"input": 1.0, "output": 2}, "budget": 1.0,
        "concurrency": 4, "timeout": 30, "retries": 1, "max_failed": 0.5,
    }  # fmt: skip
    answerer = {
        "kind": "endpoint",
        "url": url,
        "model": "tiny-text",
        "structured": False,
        "max_tokens": 50,
        "concurrency": 4,
    }
    return {
        "seed": 1,
        "spice": "off",
        "corpora": {"coco": {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"test": 24}}},
        "captioners": {"served": {**served, **keys}},
        "questions": {"asked": {"reader": "toyworld", "corpora": ["coco"], "answerer": {**answerer, **keys}}},
        "decodings": {"greedy": {"kind": "greedy", "max_tokens": 30}},
        "evaluations": {
            "main": {"captioners": ["served"], "corpora": ["coco"], "decoding": "greedy", "questions": ["asked"]}
        },
    }


def run(folder: Path, config: dict, *arguments: str) -> str:
    """Make the tables of a run and return what Snakemake printed."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "CAPTIONLAB_TEST_KEY": SECRET}
    folder.mkdir(exist_ok=True)
    options = ("--cores", "2", *arguments, "results/tables/")
    process = start(folder / "run", config, *options, output=folder / "log", environment=environment)
    text = (process.wait(), (folder / "log").read_text(encoding="utf-8"))
    assert text[0] == 0, text[1][-3000:]
    return text[1]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, its folder, and the requests that the server got."""
    folder = tmp_path_factory.mktemp("served")
    with chat_server(answer) as server:
        run(folder, config(server.url))
        yield folder, server


def test_captions_and_failures_are_tables(finished):
    folder, _ = finished
    place = folder / "run" / "results"
    captions = read_table(place / "captions" / "served" / "main.parquet", GENERATED)
    failures = read_table(place / "failed_requests" / "served" / "main.parquet", FAILED_REQUESTS).to_pylist()
    empty = [row["image_id"] for row in captions.to_pylist() if not row["caption"]]
    assert len(captions) == 24
    assert 0 < len(failures) < 12
    assert empty == [row["image_id"] for row in failures]
    assert all("HTTP 400" in row["reason"] and "(key)" in row["reason"] for row in failures)
    assert read_metadata(place / "captions" / "served" / "main.parquet")["device"] == "server of tiny"


def test_the_provenance_names_the_model_that_answered(finished, monkeypatch, capsys):
    monkeypatch.chdir(finished[0] / "run")
    main(["results/captions/served/main.parquet"])
    assert "by request_captions" in capsys.readouterr().out.splitlines()[0]
    main(["--full", "results/captions/served/main.parquet"])
    assert json.loads(capsys.readouterr().out)["served"] == ["stand-in fp-1"]


def test_the_server_got_each_request_once(finished):
    _, server = finished
    assert {*server.counts().values()} == {1}
    assert sum(bool(images_of(body)) for body in server.bodies) == 24
    sent = {
        headers["authorization"] for body, headers in zip(server.bodies, server.headers, strict=True) if images_of(body)
    }
    assert sent == {f"Bearer {SECRET}"}
    assert server.most_at_once <= 4
    body = next(body for body in server.bodies if images_of(body))
    assert (body["min_p"], body["model"], body["max_tokens"]) == (0.1, "tiny", 30)
    assert max(images_of(body)[0].size) <= 48


def test_costs_are_in_the_table(finished):
    folder, _ = finished
    place = folder / "run" / "results"
    captions = read_table(place / "captions" / "served" / "main.parquet", GENERATED).to_pylist()
    answered = sum(bool(row["caption"]) for row in captions)
    with open(place / "tables" / "cost.csv", encoding="utf-8") as file:
        (row,) = (row for row in csv.DictReader(file) if row["rule"] == "request_captions")
    tokens = (100 * answered, 7 * answered)
    assert (int(row["requests"]), int(row["input_tokens"]), int(row["output_tokens"])) == (answered, *tokens)
    assert float(row["price"]) == pytest.approx((tokens[0] + 2 * tokens[1]) / 1e6)
    assert "tokens read" in (place / "tables" / "cost.md").read_text(encoding="utf-8")


def test_questions_are_answered_by_a_model_behind_a_server(finished):
    folder, server = finished
    with open(folder / "run" / "results" / "tables" / "evaluation.csv", encoding="utf-8") as file:
        metrics = {row["metric"]: float(row["value"]) for row in csv.DictReader(file) if row["retriever"] == "asked"}
    assert 0 < metrics["question accuracy"] < 100  # the first option is right by chance
    assert metrics["unanswered questions"] == 0
    asked = [body for body in server.bodies if not images_of(body)]
    assert {(body["model"], body["max_tokens"], "response_format" in body) for body in asked} == {
        ("tiny-text", 50, False)
    }


def test_no_file_has_the_key(finished):
    folder, _ = finished
    found = subprocess.run(["grep", "-rlF", SECRET, str(folder)], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")


def test_another_price_and_address_run_nothing(finished):
    folder, _ = finished
    other = config("http://127.0.0.1:9/v1", price={"input": 5, "output": 5}, retries=0, concurrency=1)
    assert "Nothing to be done" in run(folder, other)


def test_an_answer_is_not_asked_for_again(finished):
    folder, server = finished
    before = len(server.bodies)
    run(folder, config(server.url), "--forcerun", "request_captions")
    captions = read_table(folder / "run" / paths.captions("served", "main"), GENERATED).to_pylist()
    assert len(server.bodies) - before == sum(not row["caption"] for row in captions)
