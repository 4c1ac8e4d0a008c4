"""The workflow planned from where it may be started: itself, workflow/, another workflow that includes or uses it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml
from support.records import python_path

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "tests" / "runs" / "config.yaml"

INCLUDED = f"""
include: "{ROOT}/Snakefile"
rule mine:
    input:
        rules.all.input,
"""
USED = f"""
module captionlab:
    snakefile: "{ROOT}/workflow/Snakefile"
    config: config["captionlab"]
use rule * from captionlab
"""


def planned(folder: Path, *arguments: str) -> dict[str, int]:
    """The number of jobs of each rule in a plan for a folder without results."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--directory", "run", *arguments]
    environment = {**os.environ, "PYTHONPATH": python_path(ROOT / "src")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    stats = done.stdout.split("Job stats:")[1].split("\n\n")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", stats, flags=re.MULTILINE)}


def test_the_plan_is_the_same_wherever_the_workflow_is_found(tmp_path):
    (tmp_path / "included.smk").write_text(INCLUDED)
    (tmp_path / "used.smk").write_text(USED)
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"captionlab": yaml.safe_load(CONFIG.read_text())}))
    plans = [
        (planned(tmp_path, "--snakefile", str(snakefile), "--configfile", str(config)), target)
        for snakefile, config, target in (
            (ROOT / "Snakefile", CONFIG, "all"),
            (ROOT / "workflow" / "Snakefile", CONFIG, "default"),
            ("included.smk", CONFIG, "mine"),
            ("used.smk", "mine.yaml", "default"),
        )
    ]
    for plan, target in plans:
        assert plan.pop(target) == 1
    jobs = [plan for plan, _ in plans]
    assert jobs[0]["total"] > 50
    assert jobs == [jobs[0]] * 4


def test_the_graph_imports_nothing_that_takes_long(tmp_path):
    """Snakemake itself imports pandas with its SLURM plugin, so this looks at what the graph adds."""
    program = f"""
import sys, yaml
from captionlab.graph.graph import Graph
graph = Graph(yaml.safe_load(open({str(CONFIG)!r})), {str(ROOT)!r})
graph.check_files()
assert graph.score_tables() and graph.described_models() and graph.code("train_encoder") and graph.provenance()
slow = ("matplotlib", "numpy", "pandas", "pyarrow", "scipy", "sklearn", "spacy", "torch", "transformers")
print([name for name in slow if name in sys.modules])
"""
    environment = {**os.environ, "PYTHONPATH": python_path(ROOT / "src")}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
