"""A repository of plug-ins outside the checkout: a run uses one of each kind, and after a change runs what uses it."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.small import ROOT, start

from captionlab.commands.new_command import KINDS, write_plugin
from captionlab.places import VARIABLE
from captionlab.storage.schemas import GENERATED, TRAINING
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow

# What is added to the config of the reward to use the others.
MORE = """
corpora:
  photos: {reader: photos, annotations: photos_data/photos.json, images: photos_data}
captioners:
  colours: {family: colours}
  best:
    parent: base
    corpus: toy
    objective: {kind: best, decoding: sample, samples: 2, reward: {kind: cider}}
    optimizer: {kind: adam, lr: 1.0e-4, batch: 8, steps: 2}
evaluations:
  main: {captioners: [base, tuned, best, colours], corpora: [toy], decoding: greedy, repeats: true}
  photos: {captioners: [colours], corpora: [photos]}
papers:
  rhymes: {comparable: true}
"""
NAMES = {
    "captioner": "colours",
    "reader": "photos",
    "reward": "brevity",
    "objective": "best",
    "metric": "repeats",
    "paper": "rhymes",
}


def added(config: dict, more: dict) -> dict:
    """Return a config with the blocks of another config in its sections."""
    sections = {name: {**config.get(name, {}), **blocks} for name, blocks in more.items()}
    return {**config, **sections}


def jobs(text: str) -> dict[str, int]:
    """Return how many jobs of each rule Snakemake announced."""
    table = re.search(r"^job +count\n-+  -+\n(.*?)^total ", text, re.MULTILINE | re.DOTALL)
    return {rule: int(count) for rule, count in map(str.split, table[1].splitlines())} if table else {}


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A folder with a plug-in of each kind."""
    folder = tmp_path_factory.mktemp("repository")
    assert NAMES.keys() == KINDS.keys()
    for kind, name in NAMES.items():
        write_plugin(kind, name, folder)
    return folder


@pytest.fixture
def run(repository, tmp_path):
    """Return a function that runs the config with options, and returns how many jobs of each rule there were."""
    config = added(yaml.safe_load((repository / "brevity.yaml").read_text()), yaml.safe_load(MORE))
    output = tmp_path / "output.txt"
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    # Figures, the browser and model cards are for other tests.
    targets = ["results/reporting/evaluation.csv", "results/reporting/rhymes/rhymes_table1_scores.csv"]

    def run(*options):
        arguments = ("--cores", "2", *options, *targets)
        process = start(tmp_path / "run", config, *arguments, output=output, environment=environment)
        assert process.wait(600) == 0, output.read_text()
        return jobs(output.read_text())

    run.results = tmp_path / "run" / "results"
    return run


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text of a file that is there."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def rewards(results: Path) -> list[tuple[float, int]]:
    """Return the reward and the number of words of the captions that the training logged."""
    rows = read_table(results / "captioners" / "tuned" / "training.parquet", TRAINING).to_pylist()
    logged = {name: [row["value"] for row in rows if row["statistic"] == name] for name in ("reward", "words")}
    return [*zip(logged["reward"], logged["words"], strict=True)]


def test_what_uses_a_plug_in_runs_again_and_nothing_else(repository, run):
    assert {"read_corpus", "write_captions", "finetune_captioner", "score_captions", "tabulate_rhymes"} <= run().keys()
    the_numbers_are_there(run.results)
    a_script_runs_alone(run.results.parent)
    place = repository / "mine" / "training" / "rewards" / "brevity" / "reward.py"
    edit(place, "def brevity", "# Each word costs the same.\n\n\ndef brevity")
    assert run("--dry-run") == {}
    edit(place, "(words - lengths)", "2 * (words - lengths)")
    kept = {path: path.stat().st_mtime_ns for path in run.results.rglob("*") if "best" in path.parts}
    first = rewards(run.results)
    of_tuned = ["finetune_captioner", "generate_captions", "tokenize_captions", "score_captions"]
    of_all = ["score_nlg", "summarise_evaluation", "collect_evaluation", "tabulate_rhymes"]
    assert run() == dict.fromkeys([*of_tuned, *of_all], 1)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert rewards(run.results)[0][0] == pytest.approx(2 * first[0][0])
    edit(repository / "mine" / "evaluation" / "metrics" / "repeats" / "metric.py", "else 0.0", "else 1.0")
    planned = run("--dry-run")
    assert planned.pop("score_captions") == 4
    assert planned == dict.fromkeys(["summarise_evaluation", "collect_evaluation", "tabulate_rhymes"], 1)


def the_numbers_are_there(results: Path) -> None:
    """Check what each plug-in made."""
    written = read_table(results / "captions" / "colours" / "photos.parquet", GENERATED).to_pylist()
    assert [row["caption"] for row in written][:3] == ["a picture in red", "a picture in green", "a picture in blue"]
    assert all(reward <= 0 < words for reward, words in rewards(results))
    with open(results / "reporting" / "evaluation.csv", encoding="utf-8", newline="") as file:
        metrics = {(row["captioner"], row["metric"]) for row in csv.DictReader(file)}
    assert {("colours", "repeats"), ("tuned", "repeats"), ("best", "CIDEr")} <= metrics
    assert "colours" in (results / "reporting" / "rhymes" / "rhymes_table1_scores.csv").read_text()


def a_script_runs_alone(folder: Path) -> None:
    """Score captions again by hand, without a run."""
    table = folder / "results" / "evaluation" / "colours" / "main" / "repeats.parquet"
    before, configs = table.read_bytes(), f"config={folder.with_suffix('.yaml')}"
    words = ["captioner=colours", "evaluation=main", "table=repeats", configs]
    command = [sys.executable, str(ROOT / "workflow" / "scripts" / "score_captions.py"), *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    assert table.read_bytes() == before
