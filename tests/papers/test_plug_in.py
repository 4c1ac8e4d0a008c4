"""A paper that nobody has heard of, as docs/extending.md prints it: a folder, and its block of a config."""

import csv
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.plans import config_of, plan_in
from support.running import run_script_in
from support.templates import install

from captionlab.config.whole import ConfigError
from captionlab.graph import report
from captionlab.storage.schemas import SUMMARY
from captionlab.storage.tables import write_table

CONFIG = {
    "seed": 1,
    "spice": "off",
    "corpora": {"world": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"train": 8, "test": 8}}},
    "captioners": {"given": {"family": "file", "captions": {"world": "given.csv"}}},
    "evaluations": {"main": {"captioners": ["given"], "corpora": ["world"]}},
}
ASKED = {**CONFIG, "papers": {"rhymes": {"comparable": True}}}


@pytest.fixture
def add(checkout):
    """Add the paper to a copy of the checkout, as a folder of this name."""

    def add(name="rhymes"):
        folder = install(checkout, "papers/rhymes")
        return folder.rename(folder.with_name(name))

    return add


def test_its_folder_is_all_that_the_workflow_needs(checkout, add, tmp_path):
    before = plan_in(checkout, CONFIG, tmp_path / "plan")
    add()
    assert plan_in(checkout, CONFIG, tmp_path / "plan") == before  # a config that does not ask for it
    planned = plan_in(checkout, ASKED, tmp_path / "plan")
    assert {"summarise_rhymes", "plot_rhymes"}.isdisjoint(planned.rules())
    assert planned.tables("rhymes") == ["rhymes_table1_scores"]
    assert planned.job("tabulate_rhymes").params["code"]
    assert {"rhymes_claims", "rhymes_published", "rhymes_cells"} <= planned.job("check_claims").inputs.keys()
    assert planned.job("collect_tables").params["papers"] == {"rhymes": "Nobody 1999, *Rhymes*"}
    its_table_is_written(planned.job("tabulate_rhymes"), checkout, tmp_path)


def its_table_is_written(job, checkout, folder):
    """The published number stands beside the captioner that has one, and a missing file is an error."""
    place = {name: "main" for name in ("split", "evaluation", "decoding", "device")}
    place |= {"corpus": "coco", "retriever": None, "candidates": None, "ci_low": 0.0, "ci_high": 200.0}
    values = [("fc", "CIDEr", 98.25), ("other", "CIDEr", 50.0), ("fc", "METEOR", 20.0)]
    rows = [{**place, "captioner": name, "metric": metric, "value": value} for name, metric, value in values]
    rows = [{**row, "seeds": 1, "n": 4} for row in rows]
    summary = folder / "summary.parquet"
    write_table(summary, SUMMARY, {name: [row[name] for row in rows] for name in SUMMARY.columns})
    inputs, params = {**job.inputs, "summary": summary}, {**job.params, "provenance": {"config": "toy", "seed": 1}}
    tables = [Path(path).name for path in job.outputs["tables"]]
    outputs = {"tables": tables, "pictures": "pictures", "cells": "cells.parquet"}
    run_script_in(checkout, folder, "tabulate_paper", inputs, outputs, **params)
    assert all((folder / name).stat().st_size for name in tables)
    with open(folder / "rhymes_table1_scores.csv", encoding="utf-8", newline="") as file:
        found = [(row["captioner"], row["value"], row["published"]) for row in csv.DictReader(file)]
    assert found == [("fc", "98.25", "101.0"), ("other", "50.0", "")]
    outputs["tables"] = [*tables, "rhymes_table2_words.csv"]
    with pytest.raises(AssertionError, match="declares 'rhymes_table2_words' and does not make it"):
        run_script_in(checkout, folder, "tabulate_paper", inputs, outputs, **params)


def test_its_block_has_the_keys_of_its_model(checkout, add, tmp_path):
    add()
    with pytest.raises(ConfigError, match=r"papers\.rhymes has no key 'comparabel'"):
        plan_in(checkout, {**CONFIG, "papers": {"rhymes": {"comparable": True, "comparabel": True}}}, tmp_path / "plan")


def test_what_a_table_says_of_comparing_measures_nothing_again(planned):
    """A summary is hours of resampling, and depends on no label and on no verdict."""

    def parameters(comparable):
        config = config_of("config")
        for block in config["papers"].values():
            block["comparable"] = comparable
        jobs = planned(config).jobs
        return [
            {job.rule: job.params for job in jobs if job.rule in {f"{verb}_{paper}" for paper in config["papers"]}}
            for verb in ("summarise", "tabulate")
        ]

    (summaries, tables), (same, others) = parameters(False), parameters(True)
    assert summaries.keys() == {"summarise_discritune", "summarise_probing", "summarise_scenes"}
    assert same == summaries
    assert all(tables[name] != params for name, params in others.items())


def test_a_paper_that_lacks_a_file_is_an_error_at_start(checkout, add, tmp_path):
    (add() / "published.csv").unlink()
    with pytest.raises(ConfigError, match=r"papers/rhymes lacks published\.csv"):
        plan_in(checkout, CONFIG, tmp_path / "plan")


def test_a_paper_that_figures_could_not_be_called_after_is_an_error_at_start(checkout, add, tmp_path):
    add("two_words")
    with pytest.raises(ConfigError, match="the name 'two-words' must be of lower-case letters and digits"):
        plan_in(checkout, CONFIG, tmp_path / "plan")


def test_its_tables_stand_in_a_category_of_their_own(monkeypatch):
    monkeypatch.setattr(report, "names", lambda package: ("rhymes",))
    wildcards = SimpleNamespace(name="rhymes_table1_scores", ending="csv")
    assert report.paper_of(wildcards) == "rhymes"
    assert report.labels_of(wildcards)["table"] == "table 1, scores"
