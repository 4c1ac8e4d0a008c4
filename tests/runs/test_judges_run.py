"""The workflow with judges behind a scripted server: scores, intervals, reasons, and agreement with people."""

import csv
import json
import os
import re
from pathlib import Path
from statistics import mean

import pytest
from support.chat_server import Body, Reply, chat, chat_server, texts_of
from support.interval_ranges import intervals_outside
from support.small import start

from captionlab.corpora.toyworld.render import render
from captionlab.evaluation.metrics.judge.metric import SCORES
from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES
from captionlab.served.forms import DATA_NOTE
from captionlab.storage import paths
from captionlab.storage.tables import read_metadata, read_table

pytestmark = pytest.mark.slow

TOY = {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"train": 8, "test": 12}}
SILENT = "a caption without an answer"
JUDGES = ("clair", "fleur", "own", "yes-or-no")


def answer(body: Body) -> Reply:
    """Answer as a judge who counts words that a caption shares with references, or its letters without references.

    It first gives a bare number in place of CLAIR's JSON, and it never answers about one caption.
    """
    first, last = texts_of(body)[0][1].removeprefix(DATA_NOTE), texts_of(body)[-1][1]
    caption, *others = [json.loads(data) for data in re.findall("<data>(.*?)</data>", first)]
    (caption,) = [caption] if isinstance(caption, str) else caption
    if last.startswith("Why?"):
        return chat(f"it has {len(caption)} letters")
    if caption == SILENT:
        return chat("no comment")
    if "candidate set" in first:
        if len(body["messages"]) == 1:
            return chat("50", usage=(100, 7))
        return chat(json.dumps({"score": score_of(caption, others[0]), "reason": f"I read: {caption}"}), usage=(100, 7))
    if "Real Number" in first:
        tokens = [{"0": 0.0}, {".": 0.0}, {str(len(caption) % 10): -0.7, str((len(caption) + 1) % 10): -0.7}]
        return chat(f"0.{len(caption) % 10}", logprobs=tokens)
    key = {"choice": "yes" if len(caption) % 2 else "no"} if "choice" in first else {"score": 1 + len(caption) % 5}
    return chat(json.dumps({"reason": "because", **key}))


def score_of(caption: str, references: list[str]) -> float:
    """Return how many words of a caption references have, times 100."""
    words = caption.lower().split()
    return round(100 * mean(any(word in text.lower().split() for text in references) for word in words), 1)


def config(folder: Path, url: str, **keys) -> dict:
    served = {
        "url": url, "model": "tiny", "parameters": {"seed": 3}, "api_key_variable": "CAPTIONLAB_TEST_KEY",
        "price": {"input": 1.0, "output": 2}, "budget": 1.0, "concurrency": 4, "timeout": 30, "retries": 1,
        "max_failed": 0.5, **keys,
    }  # fmt: skip
    rubric = {"kind": "rubric", "template": "rubric.txt", **served}
    return {
        "seed": 1,
        "spice": "off",
        "data": str(folder),
        "corpora": {"coco": TOY},
        "captioners": {"given": {"family": "file", "captions": {"coco": "given.csv"}}, "people": {"family": "human"}},
        "judges": {
            "clair": {"kind": "clair", "structured": False, "max_tokens": 200, **served},
            "fleur": {"kind": "fleur", "smoothing": True, "reasons": True, "image_size": 32, **served},
            "own": {"answer": {"score": [1, 5]}, "references": True, "image": False, **rubric},
            "yes-or-no": {"answer": {"choices": {"yes": 1, "no": 0}}, **rubric, "template": "choice.txt"},
        },
        "evaluations": {"main": {"captioners": ["given", "people"], "corpora": ["coco"], "judges": [*JUDGES]}},
        "judgements": {"simulated": {"reader": "simulated", "corpus": "coco", "images": 10, "judges": [*JUDGES]}},
    }


def write_data(folder: Path) -> None:
    """Write captions of all test images, of which one gets no answer, and two templates."""
    images = [image for image in render(TOY["domain"], TOY["seed"], TOY["images"]) if image.split == "test"]
    with open(folder / "given.csv", "w", encoding="utf-8", newline="") as file:
        rows = [(image.image_id, image.captions[-1]) for image in images]
        csv.writer(file).writerows([("image_id", "caption"), (rows[0][0], SILENT), *rows[1:]])
    (folder / "rubric.txt").write_text("Rate {{ caption }} by {{ references }}.", encoding="utf-8")
    (folder / "choice.txt").write_text("Make a choice: {{ caption }}", encoding="utf-8")


def run(folder: Path, config: dict) -> str:
    """Make the tables and the browser of a run and return what Snakemake printed."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "CAPTIONLAB_TEST_KEY": "a-key"}
    options = ("--cores", "2", "results/tables/", "results/browser")
    process = start(folder / "run", config, *options, output=folder / "log", environment=environment)
    code, text = process.wait(), (folder / "log").read_text(encoding="utf-8")
    assert code == 0, text[-4000:]
    return text


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, its folder, and the server."""
    folder = tmp_path_factory.mktemp("judges")
    write_data(folder)
    with chat_server(answer) as server:
        run(folder, config(folder, server.url))
        yield folder, server


def scores(folder: Path, judge: str, captioner: str = "given", evaluation: str = "main") -> list[dict]:
    path = folder / "run" / paths.evaluation(f"judge-{judge}", captioner, evaluation)
    return read_table(path, SCORES).to_pylist()


def test_scores_reasons_and_faults_are_in_the_tables_of_judges(finished):
    folder, _ = finished
    clair, fleur, own = (scores(folder, judge) for judge in ("clair", "fleur", "own"))
    for rows in (clair, own, scores(folder, "yes-or-no")):
        assert [row["questions"] for row in rows if row["score"] is None] == [2]
        (silent,) = (row["fault"] for row in rows if row["score"] is None)
        assert silent.startswith("the answer cannot be read")
    assert {row["questions"] for row in clair} == {2}
    assert all(0 <= row["score"] <= 1 and row["reason"].startswith("I read: ") for row in clair[1:])
    assert all(row["smoothed"] and row["reason"].endswith("letters") for row in fleur[1:])
    assert {row["questions"] for row in fleur[1:]} == {1}
    assert {row["score"] for row in own[1:]} <= {1, 2, 3, 4, 5}
    assert len(scores(folder, "fleur", "people")) == 12
    assert not (folder / "run" / paths.evaluation("judge-clair", "people", "main")).exists()
    metadata = read_metadata(folder / "run" / paths.evaluation("judge-clair", "given", "main"))
    assert metadata["device"] == "server of tiny"


def test_means_and_shares_without_an_answer_have_intervals(finished):
    folder, _ = finished
    with open(folder / "run" / paths.table("evaluation.csv"), encoding="utf-8") as file:
        rows = {row["metric"]: row for row in csv.DictReader(file) if row["captioner"] == "given"}
    for judge, factor in zip(JUDGES, (100, 100, 1, 100), strict=True):
        answered = [row["score"] for row in scores(folder, judge) if row["score"] is not None]
        assert float(rows[judge]["value"]) == pytest.approx(factor * mean(answered), abs=1e-6)
        assert float(rows[judge]["ci_low"]) <= float(rows[judge]["value"]) <= float(rows[judge]["ci_high"])
        assert float(rows[f"{judge}: no answer"]["value"]) == pytest.approx(100 / 12)
    ranges = {
        judge: (0.0, 100.0) for judge in ("clair", "fleur", "yes-or-no", *(f"{one}: no answer" for one in JUDGES))
    }
    outside, intervals = intervals_outside(folder / "run" / "results", {**ranges, "own": (1.0, 5.0)})
    assert outside == []
    assert intervals > 20


def test_judges_are_held_against_people_beside_other_metrics(finished):
    folder, _ = finished
    place = [
        folder / "run" / paths.judgements(table, judgements="simulated") for table in ("correlations", "differences")
    ]
    correlations = [row for row in read_table(place[0], CORRELATIONS).to_pylist() if row["category"] is None]
    metrics = {row["metric"] for row in correlations}
    assert {"CIDEr", *JUDGES} <= metrics
    assert not any("no answer" in metric for metric in metrics)
    (tau,) = (row["value"] for row in correlations if (row["metric"], row["coefficient"]) == ("clair", "tau-c"))
    assert tau > 0.3, "words of references are words of good captions"
    pairs = {(row["metric"], row["against"]) for row in read_table(place[1], DIFFERENCES).to_pylist()}
    assert ("CIDEr", "clair") in pairs
    with open(folder / "run" / paths.table("judgements.csv"), encoding="utf-8") as file:
        assert {"CIDEr", *JUDGES} <= {row["metric"] for row in csv.DictReader(file)}


def test_reasons_are_on_the_page_of_captions(finished):
    folder, _ = finished
    text = (folder / "run" / paths.browser("data/coco.js")).read_text(encoding="ascii")
    assert "I read: " in text
    assert '"notes"' in text


def test_another_price_runs_nothing_and_nothing_is_asked_twice(finished):
    folder, server = finished
    assert {*server.counts().values()} == {1}
    other = config(folder, "http://127.0.0.1:9/v1", price={"input": 5, "output": 5}, retries=0)
    assert "Nothing to be done" in run(folder, other)


def test_another_template_asks_its_judge_alone(finished):
    folder, server = finished
    before = len(server.bodies)
    (folder / "choice.txt").write_text("Make another choice: {{ caption }}", encoding="utf-8")
    run(folder, config(folder, server.url))
    bodies = server.bodies[before:]
    assert bodies
    assert all("Make another choice" in texts_of(body)[0][1] for body in bodies)
