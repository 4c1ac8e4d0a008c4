"""Metrics by commands in a run: their values are in the summary, and only what a change touches is scored anew."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from support.conda_stand_in import write_conda
from support.small import start

from captionlab.storage import paths
from captionlab.storage.schemas import CAPTIONS, GENERATED, SUMMARY
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow

COUNT = """
import json, sys
from PIL import Image

what, captions, scores = sys.argv[1:]
with open(scores, "w") as file:
    for row in map(json.loads, open(captions)):
        assert row["references"] == []
        value = len(row["caption"].split()) if what == "words" else Image.open(row["image"]).width
        print(json.dumps({"id": row["id"], "score": value}), file=file)
"""
SUMMARY_TABLE = paths.reporting("summary.parquet")


class Run:
    """A run of two metrics of human captions, which need no model and no other metric."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.script, self.output = folder / "count.py", folder / "output"
        self.script.write_text(COUNT)
        self.write_environments()
        counting = {"references": False, "scale": 1, "version": "1", "time_limit": 5, "mem_mb": 1000}
        self.config = {
            "seed": 1,
            "data": str(folder),
            "corpora": {"coco": {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"train": 2, "test": 6}}},
            "captioners": {"people": {"family": "human", "reference": "each"}},
            "metrics": {
                "words": {**counting, "command": "judge count.py words", "venv": "venv"},
                "widths": {**counting, "command": f"{sys.executable} count.py widths", "conda": "env.yaml", "gpu": 1},
            },
            "evaluations": {"main": {"captioners": ["people"], "corpora": ["coco"], "metrics": ["words", "widths"]}},
        }

    def write_environments(self) -> None:
        """Write a virtual environment with a program of its own, and a description that a stand-in for conda takes."""
        program = self.folder / "venv" / "bin" / "judge"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        program.chmod(0o755)
        (self.folder / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
        (self.folder / "env.yaml").write_text("dependencies: [judge]\n")
        places = [str(write_conda(self.folder)), os.environ["PATH"]]
        self.environment = {**os.environ, "PATH": os.pathsep.join(places)}

    def __call__(self, *arguments: str) -> int:
        given = ("--cores", "2", SUMMARY_TABLE, *arguments)
        run = self.folder / "run"
        return start(run, self.config, *given, output=self.output, environment=self.environment).wait()

    def planned(self) -> set[str]:
        """What the jobs that would run now say of themselves; of those of commands the metric."""
        assert self("--dry-run") == 0, self.output.read_text()
        messages = re.findall(r"^Job \d+: (.*)$", self.output.read_text(), re.MULTILINE)
        return {message.removeprefix("score the captions of people for main by ") for message in messages}


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Run:
    run = Run(tmp_path_factory.mktemp("commands"))
    assert run() == 0, run.output.read_text()
    return run


def test_values_are_in_the_summary(finished):
    results = finished.folder / "run"
    captions = read_table(results / paths.captions("people", "main"), GENERATED)["caption"].to_pylist()
    assert len(captions) > 6, "each caption of an image counts"
    written = read_table(results / paths.corpus("captions", "coco"), CAPTIONS)["caption"].to_pylist()
    assert {*captions} <= {*written}
    found = {row["metric"]: row for row in read_table(results / SUMMARY_TABLE, SUMMARY).to_pylist()}
    assert found.keys() == {"words", "widths"}
    assert found["words"]["value"] == pytest.approx(np.mean([len(caption.split()) for caption in captions]))
    assert found["words"]["ci_low"] < found["words"]["value"] < found["words"]["ci_high"]
    assert found["widths"]["n"] == 6


def test_only_what_a_change_touches_is_scored_anew(finished):
    words, summary = finished.config["metrics"]["words"], "summarise every evaluation, with intervals"
    before = {**words}
    assert finished.planned() == set()
    words["scale"], words["time_limit"] = 100, 3
    assert finished.planned() == {summary}
    words["version"] = "2"
    assert finished.planned() == {summary, "words"}
    words.update(before)
    finished.script.write_text(f"{COUNT}\n")
    assert finished.planned() == {summary, "words", "widths"}
    finished.script.write_text(COUNT)


def test_a_command_that_fails_leaves_a_sentence_and_no_scores(tmp_path):
    run = Run(tmp_path)
    run.script.write_text(COUNT.replace("print(json", "what == 'words' and print(json"))
    assert run("--keep-going") == 1
    log = (tmp_path / "run" / paths.log("score_by_command/people/main/widths")).read_text()
    assert re.match(r"metrics\.widths for people in main: (\d+) of \1 captions have no score, the first is 'coco/", log)
    scores = tmp_path / "run" / "results" / "evaluation" / "people" / "main"
    assert [path.name for path in scores.iterdir()] == ["command-words.parquet"]
