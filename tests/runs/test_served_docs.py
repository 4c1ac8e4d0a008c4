"""docs/served.md: its first config and commands as printed, with a tiny model that `transformers serve` serves."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.checkouts import copy_checkout
from support.hub_models import hub_model
from support.records import python_path
from support.serving import transformers_serve

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[2] / "docs" / "served.md"
# `lab tables`, without its set-up (tests/test_lab.py has it).
LAB = """#!/bin/sh
shift
if [ "$1" = --limit ]; then limit=$2; shift 2; set -- "$@" --config limit=$limit; fi
exec python -m snakemake --cores 2 results/tables/ "$@"
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the checkout in which a reader has typed every command of the first section; `log` has the output."""
    folder = tmp_path_factory.mktemp("served")
    model = hub_model("smolvlm", folder / "model")
    checkout = copy_checkout(folder / "captionlab")
    (checkout / "lab").write_text(LAB)
    with transformers_serve(model, folder / "server.log") as address:
        text = PAGE.read_text(encoding="utf-8").replace("http://localhost:8000/v1", address)
        section = text.replace("Qwen/Qwen2.5-VL-7B-Instruct", str(model)).split("\n## ")[1]
        environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONPATH": python_path(checkout / "src"),
        }
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        commands = []
        for language, content in re.findall(r"^```(\w+)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL):
            if language == "yaml":
                (checkout / content.partition("\n")[0].removeprefix("# ")).write_text(content, encoding="utf-8")
            elif not content.startswith("vllm "):  # needs a GPU
                commands.append(content)
        script = "set -euo pipefail\n" + "".join(commands)
        with open(checkout / "log", "w", encoding="utf-8") as log:
            command = ["bash", "-c", script]
            ended = subprocess.run(command, cwd=checkout, env=environment, stdout=log, stderr=log, check=False)
    assert ended.returncode == 0, (checkout / "log").read_text(encoding="utf-8")[-3000:]
    return checkout


def test_the_tables_have_intervals_and_costs(checkout):
    tables = checkout / "runs" / "served" / "results" / "tables"
    with open(tables / "evaluation.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["captioner"] == "qwen"]
    assert {row["metric"] for row in rows} >= {"CIDEr", "P@1", "CLIPScore"}
    assert {row["n"] for row in rows} == {"100"}
    assert all(float(row["ci_low"]) <= float(row["value"]) <= float(row["ci_high"]) for row in rows)
    with open(tables / "cost.csv", encoding="utf-8") as file:
        (row,) = (row for row in csv.DictReader(file) if row["rule"] == "request_captions")
    assert (int(row["requests"]), int(row["cached_requests"])) == (100, 20)
    assert float(row["price"]) > 0


def test_the_first_look_is_printed(checkout):
    text = (checkout / "log").read_text(encoding="utf-8")
    assert "# Every metric of this run [limited to 20 images of each split]" in text
    assert "tokens read" in text


def test_every_config_of_the_page_is_yaml():
    for content in re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        assert yaml.safe_load(content)["captioners"]
