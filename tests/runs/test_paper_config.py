"""config/paper.yaml, end to end, on tiny stand-ins in the published formats; stand_ins.yaml suits it to them.

Of config/paper_variants.yaml one training runs, whose captions come from a beam search.
The run fetches all of them (`retrieve: true`), from a server on the loopback that is the Hugging Face hub too.
"""

import csv
import os
import subprocess
import sys
from collections.abc import Sequence, Set
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from snakemake.utils import update_config
from support.file_server import serving
from support.interval_ranges import intervals_outside
from support.plans import config_of
from support.records import python_path
from support.stand_in_sources import checkout_for
from support.stand_ins import SCENES, tagger_package, write_stand_ins

from captionlab.commands.main import main
from captionlab.storage import paths
from captionlab.storage.schemas import REJECTS, TRAINING
from captionlab.storage.tables import read_table

ROOT = Path(__file__).parents[2]
STAND_INS = Path(__file__).with_name("stand_ins.yaml")
# Captioners that are trained and evaluated as others of this run are, and corpora that are read as others are;
# flickr30k is an evaluation too.
LEFT_OUT = {
    *("clipcap-concap", "discritune-concap", "discritune-blip", "discritune-camel"),
    *("fc-rosita", "fc-vilbert", "fc-clip", "fc-lxmert"),
    *("scened@1", "scened@4", "scened@6", "scened@8"),
    *("flickr30k", "nocaps-out", "concadia-descriptions"),
}
# Apart from these, as corpora have the same names: evaluations whose corpora stand_ins.yaml has in `coco` and `blip`,
# or which nobody captions.
LEFT_OUT_EVALUATIONS = {"concap", "nocaps", "concadia", "imagecode"}
REWARDED = ("UNITER",)
SCORERS = ("UNITER", "ROSITA", "ViLBERT", "CLIP", "LXMERT")
MISSING = "not in this run"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("paper")
    write_stand_ins(folder / "elsewhere")
    tagger_package(folder / "packages", ROOT / "resources" / "en_ewt_sm")
    with serving() as server:
        checkout = checkout_for(server, folder / "elsewhere", folder / "checkout")
        figure = "results/figures/probing_figure2_replacements.png"
        finish(folder, checkout, "results/tables/", figure, endpoint=server.address)
        trained = paths.captioner("training.parquet", "flickr-greedy")
        finish(folder, checkout, trained, endpoint=server.address, on_top=["paper_variants"])
    return folder / "run"


def finish(folder: Path, checkout: Path, *targets: str, endpoint: str, on_top: Sequence[str] = ()) -> None:
    """Run the workflow of a checkout in a folder, with another hub and with no data at first."""
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(config(*on_top), sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--snakefile", str(checkout / "Snakefile")]
    command += ["--configfile", str(file), "--directory", str(folder / "run")]
    command += [*targets, "--config", f"data={folder / 'data'}", "retrieve=True"]
    path = python_path(ROOT / "src", folder / "packages")
    environment = {**os.environ, "PYTHONPATH": path, "HF_ENDPOINT": endpoint}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, (result.stdout + result.stderr)[-6000:]


def config(*on_top: str) -> dict[str, Any]:
    """Return the config of the paper, perhaps with others on top of it, as it suits the stand-ins."""
    whole = config_of("paper", *on_top)
    update_config(whole, yaml.safe_load(STAND_INS.read_text(encoding="utf-8")))
    for name in LEFT_OUT_EVALUATIONS:
        del whole["evaluations"][name]
    return without(whole, LEFT_OUT)


def without(value: Any, names: Set[str]) -> Any:
    """Return a part of a config without what has or names one of these names."""
    if isinstance(value, dict):
        kept = {key: part for key, part in value.items() if key not in names and not _is_one(part, names)}
        return {key: without(part, names) for key, part in kept.items()}
    if isinstance(value, list):
        return [without(part, names) for part in value if not _is_one(part, names)]
    return value


def _is_one(value: Any, names: Set[str]) -> bool:
    return isinstance(value, str) and value in names


def rows(run: Path, table: str) -> list[dict[str, str]]:
    with open(run / "results" / "tables" / f"{table}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_all_data_were_fetched(run):
    def files(folder: Path) -> dict[str, int]:
        return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*") if path.is_file()}

    fetched = files(run.parent / "data")
    assert {name for name in fetched if name.startswith((".", "sources."))} == {".retrieve.lock", "sources.lock.json"}
    assert fetched.items() >= files(run.parent / "elsewhere").items()
    assert len(fetched) > 700


def test_every_cell_of_table_1_has_a_published_value_and_a_verdict(run):
    cells = rows(run, "discritune_table1_retrieval")
    made = [cell for cell in cells if cell["verdict"] != MISSING]
    # Three captioners on COCO, on Conceptual Captions and, where none of them was evaluated, on nocaps.
    assert (len(cells), len(made)) == (3 * 3, 3 * 2)
    assert all(float(cell["published"]) > 0 for cell in cells)
    # Random weights cannot reproduce the paper, and the table must say so.
    assert {cell["verdict"] for cell in made} == {"differs"}
    assert all(float(cell["difference"]) < 0 < float(cell["smallest_difference"]) for cell in made)
    assert {(cell["n"], cell["candidates"]) for cell in made} == {("100", "100 file-order")}


def test_no_interval_lies_outside_of_the_range_of_its_measure(run):
    found, intervals = intervals_outside(run / "results")
    assert found == []
    assert intervals > 500


def test_in_domain_and_cross_domain_are_told_apart(run):
    inside = {(r["captioner"], r["corpus"]) for r in rows(run, "discritune_table2_in_domain")}
    across = {(r["captioner"], r["corpus"]) for r in rows(run, "discritune_table3_cross_domain")}
    assert inside == {(name, "coco") for name in ("clipcap-coco", "discritune-coco")}
    assert {("clipcap-coco", "concap"), ("discritune-coco", "concap")} <= across
    assert not inside & across


def test_images_that_could_not_be_fetched_are_counted(run):
    from captionlab.storage.tables import read_table

    rejects = read_table(run / "results/corpora/concap/rejects.parquet", REJECTS)
    assert set(rejects["reason"].to_pylist()) == {"missing"}
    assert rejects.num_rows == 10


def test_every_score_of_table_2_has_a_published_value_and_a_verdict(run):
    cells = [row for row in rows(run, "probing_table2_scores") if row["measure"] == "score"]
    assert {(cell["subject"], cell["scorer"]) for cell in cells} == {*product(("CE", *REWARDED), SCORERS)}
    assert all(float(cell["published"]) > 0 for cell in cells)
    assert {cell["n"] for cell in cells} == {"100"}
    assert not {cell["verdict"] for cell in cells} & {"not comparable", "no published value"}


@pytest.mark.parametrize("against", [(), ("--against", "CE")])
@pytest.mark.parametrize("measure", ["first pattern", "perplexity"])
def test_a_number_of_an_analysis_is_computed_again(run, measure, against):
    place = ["--paper", "probing", "--captioner", "UNITER", "--corpus", "coco", "--metric", measure, *against]
    assert main(["number", *place, "--directory", str(run)]) == 0  # the stored number is the computed one


def test_templates_are_scored_with_the_numbers_of_nouns_of_figure_3(run):
    templates = {row["subject"] for row in rows(run, "probing_table7_templates") if row["source"] == "published"}
    assert templates == set(SCORERS)  # the published ones
    levels = {row["level"] for row in rows(run, "probing_figure3_visual_words") if row["experiment"] == "count"}
    assert levels == {"3.0", "4.0", "5.0", "6.0", "7.0"}


def test_language_of_each_paper_is_that_of_its_own_evaluation(run):
    studied = {row["captioner"] for row in rows(run, "language_statistics")}
    assert studied == {"clipcap-coco", "discritune-coco", "human"}
    lengths = [row for row in rows(run, "probing_table4_statistics") if row["measure"] == "length"]
    assert {(row["subject"], row["corpus"]) for row in lengths} == {(role, "coco") for role in ("CE", *REWARDED)}


def test_table_1_of_scenes_has_epochs_beside_the_published_ones(run):
    cells = [row for row in rows(run, "scenes_table1_metrics") if row["published"] and row["verdict"] != MISSING]
    assert {cell["subject"] for cell in cells} == {"2", "10"}
    assert {cell["n"] for cell in cells} == {"20"}
    assert "not comparable" not in {cell["verdict"] for cell in cells}


def test_scenes_are_those_of_the_paper(run):
    overlaps = [row for row in rows(run, "scenes_table2_overlap") if row["published"] and row["measure"] == "RBO"]
    assert {row["source"] for row in overlaps} == set(SCENES)
    images = {row["source"]: row["value"] for row in rows(run, "scenes_table5_samples") if row["level"] == "0"}
    assert images == {"Train-Val": "105", "Test": "70"}


@pytest.mark.parametrize(
    ("table", "captioners", "corpora"),
    [
        ("table4_blip_retrieval", ("blip",), ("nocaps-near",)),
        ("table5_blip", ("blip",), ("nocaps-near",)),
        ("table10_camel", ("camel",), ("coco",)),
        ("table11_lookalikes", ("clipcap-coco", "discritune-coco", "human"), ("imagecode",)),
    ],
)
def test_other_captioners_and_corpora_have_published_values(run, table, captioners, corpora):
    cells = [cell for cell in rows(run, f"discritune_{table}") if cell["published"] and cell["verdict"] != MISSING]
    assert {(cell["captioner"], cell["corpus"]) for cell in cells} == set(product(captioners, corpora))


def test_captions_of_a_beam_search_are_learnt_from(run):
    """As in Table 8: ten epochs of one update each."""
    log = read_table(run / paths.captioner("training.parquet", "flickr-greedy"), TRAINING).to_pylist()
    losses = [row["value"] for row in log if row["statistic"] == "loss"]
    assert len(losses) == 10
    assert np.isfinite(losses).all()
