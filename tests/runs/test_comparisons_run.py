"""Comparisons through the workflow, with a scripted server: from files of captions to the tables."""

import csv
import json
import os
import re
from itertools import combinations

import pytest
from support.chat_server import chat, chat_server, images_of, texts_of
from support.interval_ranges import intervals_outside
from support.small import start

from captionlab.comparisons.schemas import PREFERENCES
from captionlab.corpora.toyworld.render import render
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.storage import paths
from captionlab.storage.tables import read_metadata, read_table

pytestmark = pytest.mark.slow

TOY = {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"test": 12}}
KEY = "sk-a-secret-key"
NAMES = ("short", "long", "same")


def prefer_longer(body):
    """An answer that does not depend on the order."""
    text = texts_of(body)[0][1]
    first, second = map(len, json.loads(re.search(r"<data>(\{.*?)</data>", text)[1]).values())
    answer = "tie" if first == second else "first" if first > second else "second"
    return chat(json.dumps({"reason": "the longer one says more", "answer": answer}), fingerprint="fp-7")


def write_captions(folder):
    """Write captions of three captioners; two of them have the same."""
    images = [*render(TOY["domain"], TOY["seed"], TOY["images"])]
    for name in NAMES:
        with open(folder / f"{name}.csv", "w", encoding="utf-8", newline="") as file:
            texts = ["a picture" if name == "short" else f"a picture with {image.captions[0]}" for image in images]
            rows = zip((image.image_id for image in images), texts, strict=True)
            csv.writer(file).writerows([("image_id", "caption"), *rows])


def config_of(folder, url):
    (folder / "mine.jinja").write_text("{{ captions }}\n{{ references }}\nBe brief.")
    served = {
        "evaluation": "main", "url": url, "model": "judge", "concurrency": 4, "timeout": 30.0, "retries": 1,
        "max_failed": 0.1,
    }  # fmt: skip
    costly = {"price": {"input": 1.0, "output": 2.0}, "budget": 5.0, "api_key_variable": "JUDGE_KEY"}
    own = {"captioners": ["short", "long"], "shows": "references", "prompt": "mine.jinja", "images": 5}
    return {
        "name": "compared",
        "seed": 3,
        "data": str(folder),
        "spice": "off",
        "corpora": {"toy": TOY},
        "captioners": {name: {"family": "file", "captions": {"toy": f"{name}.csv"}} for name in NAMES},
        "evaluations": {"main": {"captioners": [*NAMES], "corpora": ["toy"]}},
        "comparisons": {
            "seen": {
                **served,
                **costly,
                "image_size": 64,
                "max_tokens": 99,
                "structured": False,
                "parameters": {"seed": 4},
            },
            "read": {**served, **own},
        },
    }


def test_captions_are_compared_and_captioners_ranked(tmp_path):
    write_captions(tmp_path)
    run, output = tmp_path / "run", tmp_path / "output"
    environment = {**os.environ, "JUDGE_KEY": KEY, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def snakemake(config, *targets):
        process = start(run, config, "--cores", "2", *targets, output=output, environment=environment)
        assert process.wait() == 0, output.read_text()[-6000:]
        return output.read_text()

    with chat_server(prefer_longer) as server:
        config = config_of(tmp_path, server.url)
        snakemake(config, paths.TABLES)
        bodies = list(server.bodies)
        # Addresses, prices and limits change nothing, and more images ask about the further ones only.
        config["comparisons"]["seen"] |= {"url": "http://127.0.0.1:9/v1", "budget": 6.0, "concurrency": 2}
        assert "Nothing to be done" in snakemake(config, paths.TABLES)
        config["comparisons"]["read"]["images"] = 7
        snakemake(config, "results/comparisons/read/preferences.parquet")
        assert len(server.bodies) - len(bodies) == 2 * 2
    assert {header.get("authorization") for header in server.headers} >= {f"Bearer {KEY}"}
    seen = [body for body in bodies if images_of(body)]
    # Of three captioners two have the same captions, so two pairs are one request.
    assert (len(seen), len(bodies) - len(seen)) == (12 * 2, 5 * 2)
    assert {(body["max_tokens"], body["seed"], "response_format" in body) for body in seen} == {(99, 4, False)}
    assert {max(image.size) for body in seen for image in images_of(body)} == {64}
    assert all("Be brief" in texts_of(body)[0][1] for body in bodies if not images_of(body))

    table = run / "results" / "comparisons" / "seen" / "preferences.parquet"
    rows = read_table(table, PREFERENCES).to_pylist()
    assert len(rows) == 12 * 3 * 2
    assert {(row["captioner"], row["against"]) for row in rows} == {*combinations(NAMES, 2)}
    assert {row["answer"] for row in rows if row["against"] == "long"} == {"first", "second"}
    assert {row["asked"] for row in rows if row["captioner"] == "long"} == {False}
    assert read_metadata(table)["models"] == ["stand-in fp-7"]

    records = read_records(run / paths.table("comparisons.csv"))
    rates = {
        (row["comparison"], row["captioner"], row["against"]): row for row in records if row["measure"] == "win rate"
    }
    assert {key: float(row["value"]) for key, row in rates.items()} == {
        ("seen", "short", "long"): 0.0,
        ("seen", "short", "same"): 0.0,
        ("seen", "long", "same"): 0.5,
        ("read", "short", "long"): 0.0,
    }
    assert {row["images"] for key, row in rates.items() if key[0] == "read"} == {"5"}
    page = (run / paths.table("comparisons_seen_pairs.html")).read_text()
    assert "the longer one says more" in page
    assert page.count("<img") == 12
    assert "comparisons_seen_pairs.html" in (run / paths.table("index.html")).read_text()
    outside, intervals = intervals_outside(run / "results")
    assert outside == []
    assert intervals > 10
    files = [path for folder in (run, tmp_path / "cache") for path in folder.rglob("*") if path.is_file()]
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
