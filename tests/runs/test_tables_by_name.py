"""A table asked for by its name, from a fresh folder; and what is made again as it was, by the real workflow."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.plans import config_of, plan
from support.small import ROOT, start

pytestmark = pytest.mark.slow

# Captions from a file, so that nothing is trained.
CONFIG = {
    "name": "given",
    "seed": 1,
    "corpora": {"coco": {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"train": 4, "test": 12}}},
    "encoders": {},
    "captioners": {"mine": {"family": "file"}},
    "decodings": {"greedy": {"kind": "greedy", "max_tokens": 5}},
    "evaluations": {"main": {"captioners": ["mine"], "corpora": ["coco"], "decoding": "greedy"}},
    "spice": "off",
}
TABLE = "results/tables/evaluation.csv"


@pytest.fixture
def run(tmp_path):
    captions = [{"image_id": f"test-{rank:06d}", "caption": f"a dog and {rank} cats"} for rank in range(12)]
    (tmp_path / "mine.json").write_text(json.dumps(captions))
    captioners = {"mine": {"family": "file", "captions": {"coco": str(tmp_path / "mine.json")}}}

    def snakemake(*arguments):
        """The rules of the jobs that ran, in order of their names."""
        output = tmp_path / "out"
        folder, options = tmp_path / "run", ("--cores", "2", *arguments)
        process = start(folder, {**CONFIG, "captioners": captioners}, *options, output=output)
        assert process.wait(600) == 0, output.read_text()
        snakemake.said = output.read_text()
        return sorted(re.findall(r"Finished jobid: \d+ \(Rule: (\w+)\)", snakemake.said))

    snakemake.folder = tmp_path / "run"
    return snakemake


MADE = [
    "collect_evaluation", "collect_table", "import_captions", "render_toyworld", "score_nlg",
    "summarise_evaluation", "tokenize_captions", "tokenize_references",
]  # fmt: skip


def test_one_table_then_all(run):
    assert run(TABLE) == MADE
    tables = run.folder / "results" / "tables"
    assert [path.name for path in tables.iterdir() if path.name[0] != "."] == ["evaluation.csv"]
    with open(run.folder / TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7
    assert {(row["captioner"], row["decoding"]) for row in rows} == {("mine", "given")}
    # A folder with one table is no finished one, whatever happens to it.
    (tables / "note.txt").write_text("mine")
    assert run("results/tables/") == [
        "build_browser",
        "collect_checklist",
        "collect_cost",
        "collect_tables",
        "make_table_page",
        "write_answer",
    ]
    assert {"cost.csv", "checklist.csv", "evaluation.html", "index.html"} <= {path.name for path in tables.iterdir()}
    assert not (tables / "note.txt").exists()
    for asked in ("results/tables/", TABLE):
        run("--dry-run", asked)
        assert "Nothing to be done" in run.said


def planned(folder: Path, *targets: str) -> dict[str, int]:
    """The number of jobs of each rule in a plan of the main config for a folder without results."""
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", "--directory", str(folder / "run")]
    done = subprocess.run([*command, *targets], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    stats = done.stdout.split("Job stats:")[1].split("\n\n")[0]
    return {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", stats, flags=re.MULTILINE)}


def test_every_table_has_its_name(tmp_path):
    config = config_of("config")
    names = [Path(path).name for path in plan(config, tmp_path).job("collect_tables").inputs["tables"]]
    assert len({*names}) == len(names) > 150
    asked = plan(config, tmp_path, *(f"results/tables/{name}" for name in names))
    assert len(asked.of("collect_table")) == len(names)
    assert not asked.of("collect_tables")


def test_a_table_needs_what_its_own_job_needs_and_no_more(tmp_path):
    name = "discritune_table1_retrieval.csv"
    plan, of_job = (
        planned(tmp_path, path) for path in (f"results/tables/{name}", f"results/reporting/discritune/{name}")
    )
    assert plan == {**of_job, "collect_table": 1, "total": of_job["total"] + 1}
    assert {"tabulate_discritune", "summarise_evaluation", "finetune_captioner"} <= plan.keys()
    others = {
        "collect_tables",
        "collect_cost",
        "collect_checklist",
        "write_model_cards",
        "check_claims",
        "tabulate_probing",
        "tabulate_scenes",
        "train_probe",
    }
    assert not plan.keys() & others
