"""A DAG for tests of the engine: the smallest config cut down to one corpus, so that a whole run is a minute."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def small_config(captioners: Sequence[str], encoders: Sequence[str]) -> dict:
    """Trains these encoders and captioners, captions one corpus and scores the captions; nothing else."""
    config = yaml.safe_load(Path(__file__).with_name("config.yaml").read_text())
    config["name"] = "small"
    config["corpora"] = {"coco": config["corpora"]["coco"]}
    config["encoders"] = {name: {**config["encoders"][name], "corpus": "coco"} for name in encoders}
    config["captioners"] = {name: config["captioners"][name] for name in captioners}
    config["evaluations"] = {
        "main": {
            **config["evaluations"]["main"],
            "captioners": list(captioners),
            "corpora": ["coco"],
            "retrievers": list(encoders),
        }
    }
    del config["evaluations"]["main"]["scorers"]
    for section in ("regions", "scorers", "language", "papers", "study", "validity"):
        del config[section]
    return config


def start(
    folder: Path, config: dict, *arguments: str, output: Path, environment=os.environ, program=("-m", "snakemake")
):
    """Start Snakemake as a process group of its own, with `folder` as its working directory."""
    file = folder.with_name(f"{folder.name}.yaml")
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    command = [sys.executable, *program, "--snakefile", str(ROOT / "Snakefile"), "--configfile", str(file)]
    command += ["--directory", str(folder), *arguments]
    library = os.pathsep.join([str(ROOT / "src"), environment.get("PYTHONPATH", "")])
    with open(output, "w", encoding="utf-8") as log:
        return subprocess.Popen(
            command, env={**environment, "PYTHONPATH": library}, stdout=log, stderr=log, start_new_session=True
        )
