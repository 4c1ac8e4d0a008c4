"""docs/tutorial.md, every command as printed, in a fresh copy of the workflow; its world is made smaller before.

Set-up is left out (tests/test_lab.py has it): what git clones is copied, and `lab` starts in this environment.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from support.checkouts import copy_checkout
from support.records import python_path

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
LAB = """#!/bin/sh
command=$1
shift
case $command in
  tables) exec snakemake --cores 2 "$@" ;;
  status | try | compare-runs) exec python -m captionlab "$command" "$@" ;;
esac
"""
IMAGES = {"toy-coco": {"train": 60, "val": 10, "test": 100}, "toy-flickr": {"test": 100}}
CAPTIONERS = ["toy-clipcap-coco", "toy-discritune-coco"]
RETRIEVER = "toy-clip-a"
# What the tutorial does not speak of.
LEFT_OUT = ("regions", "scorers", "tags", "judgements", "questions", "study", "scene_analysis", "language", "validity")


def shrink(path: Path) -> None:
    """Cut the default config down to two captioners, two corpora, a retriever and a few updates, with their names."""
    config = {name: value for name, value in yaml.safe_load(path.read_text()).items() if name not in LEFT_OUT}
    config["corpora"] = {name: {**config["corpora"][name], "images": images} for name, images in IMAGES.items()}
    config["captioners"] = {name: config["captioners"][name] for name in CAPTIONERS}
    tuned = config["captioners"]["toy-discritune-coco"]
    tuned["optimizer"].update(steps=4, batch=20)
    tuned["validation"]["every"] = 2
    tuned["objective"]["reward"]["candidates"] = 20
    corpora = [*IMAGES]
    smaller = {"captioners": CAPTIONERS, "corpora": corpora, "retrievers": [RETRIEVER]}
    config["evaluations"] = {"main": {**config["evaluations"]["main"], **smaller}}
    for key in ("compare", "questions"):
        del config["evaluations"]["main"][key]
    paper = config["papers"]["discritune"]
    paper["retrievers"] = [RETRIEVER]
    for part, kept in (("captioners", CAPTIONERS), ("corpora", corpora)):
        paper[part] = {label: name for label, name in paper[part].items() if name in kept}
    config["papers"] = {"discritune": paper}
    path.write_text(yaml.safe_dump(config, sort_keys=False))


def blocks() -> list[tuple[str, str]]:
    """(language, content) of each block of code of the page."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


class Reader:
    """Somebody who saves and types what the page says; `said` has what each command printed."""

    def __init__(self, folder: Path):
        self.folder, self.said = folder, dict[str, str]()
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": python_path(folder / "src")}

    def shell(self, line: str) -> subprocess.CompletedProcess:
        command = ["bash", "-euo", "pipefail", "-c", line]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env=self.environment, check=False
        )

    def read(self) -> None:
        """Save each file and type each line of a shell, in the order of the page."""
        for language, content in blocks():
            name = content.partition("\n")[0]
            if language in ("python", "yaml") and name.startswith("# "):
                path = self.folder / name[2:]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)
            elif language == "sh":
                for line in content.splitlines():
                    if not line.startswith(("git clone ", "cd ")):
                        done = self.shell(line)
                        assert done.returncode == 0, f"{line}\n{(done.stdout + done.stderr)[-6000:]}"
                        self.said[line] = done.stdout


@pytest.fixture(scope="module")
def reader(tmp_path_factory) -> Reader:
    root = copy_checkout(tmp_path_factory.mktemp("clone") / "captionlab")
    shrink(root / "config" / "config.yaml")
    (root / "lab").write_text(LAB)
    (root / "lab").chmod(0o755)
    activate = root / ".venv" / "bin" / "activate"
    activate.parent.mkdir(parents=True)
    activate.write_text("")
    reader = Reader(root)
    reader.read()
    return reader


def would_run(status: str) -> dict[str, list[str]]:
    """Of each rule that would run, jobs, names and reasons."""
    rows = [re.split(r" *\| *", line.strip("| ")) for line in status.partition("Would run:")[2].splitlines()]
    return {row[0]: row[1:] for row in rows[4:] if len(row) == 5}


def test_the_first_status_says_that_nothing_is_made(reader):
    (made,) = re.findall(r"^\| all +\| +\d+ \| +(\d+) \|", reader.said["./lab status"], re.MULTILINE)
    assert made == "0"


def test_the_cell_is_what_its_captions_say(reader):
    found = re.search(r"P@1 of the cell: (\S+)", reader.said["python data/worst.py"])
    table = (reader.folder / "runs/before/results/tables/discritune_table1_retrieval.csv").read_text()
    cell = next(line.split(",") for line in table.splitlines() if line.startswith("DiscriTune-COCO,COCO,"))
    assert cell[6:9] == ["toy-clip-a", "P@1", found.group(1)]
    assert (reader.folder / "data/worst.png").read_bytes().startswith(b"\x89PNG")
    assert ": by collect_table" in reader.said["head -n 12 data/lineage.txt"]


def test_three_lines_run_that_captioner_and_what_reads_it(reader):
    changed = "--configfile config/config.yaml data/changed.yaml"
    jobs = would_run(reader.said[f"./lab status {changed}"])
    number, name, _, why = jobs["finetune_captioner"]
    assert (number, name) == ("1", "toy-discritune-coco")
    for words in ("config.optimizer.lr 0.0002, was 0.0001", "config.optimizer.steps 80, was 4"):
        assert words in why
    assert jobs["generate_captions"][:2] == ["1", "toy-discritune-coco/main"]
    assert not jobs.keys() & {"render_toyworld", "import_encoder", "embed_images", "import_captioner"}
    comparison = (reader.folder / "runs/before-and-after/tables/parameters.md").read_text()
    assert "config.optimizer.steps" in comparison
    assert "Nothing would run" in reader.shell(f"./lab status {changed}").stdout


def test_ones_own_photographs_are_captioned_and_scored(reader):
    table = reader.said["cat runs/photographs/results/tables/evaluation.md"]
    assert "CIDEr" in table
    assert "nobody described" not in table
    for captioner in ("toy-clipcap-coco", "toy-clipcap-concap", "human"):
        assert re.search(rf"^\| {captioner} .*\| 20 \|", table, re.MULTILINE)
    (shown,) = [content for language, content in blocks() if language == "csv"]
    assert shown.splitlines()[0] == (reader.folder / "data/mine/captions.csv").read_text().splitlines()[0]


def test_captions_of_another_program_run_nothing_else(reader):
    files = "--configfile runs/photographs/config.yaml data/mine/other.yaml --directory runs/photographs"
    jobs = would_run(reader.said[f"./lab status {files}"])
    assert jobs["import_captions"][:2] == ["1", "other/photographs"]
    assert not jobs.keys() & {"read_corpus", "embed_images", "generate_captions"}
    assert "other" in (reader.folder / "runs/photographs/results/tables/evaluation.md").read_text()


def test_the_address_is_the_projects():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert f"git clone {project['urls']['Repository']}\n" in PAGE.read_text()
