"""A paper that nobody has heard of: a folder, and its block of a config."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.paper_jobs import ROOT, Named
from support.plans import config_of, plan_in

import captionlab.papers
from captionlab.config.whole import ConfigError
from captionlab.graph import report

RULES = """
rule tabulate_rhymes:
    input:
        summary="results/reporting/summary.parquet",
        published=own(ROOT / "src/captionlab/papers/rhymes/published.csv"),
    output:
        tables=expand(
            "results/reporting/rhymes/rhymes_{name}.{ending}", name=["table1_scores", "table2_words"], ending=FORMATS
        ),
        pictures=directory("results/reporting/rhymes/pictures"),
        cells="results/reporting/rhymes/cells.parquet",
    log:
        "results/logs/tabulate_rhymes.log",
    params:
        **graph.software("tabulate_paper", loads={"captionlab.papers.rhymes.tables": []}),
        module="captionlab.papers.rhymes.tables",
        provenance=lambda wildcards: graph.provenance(),
    script:
        "../../../../workflow/scripts/tabulate_paper.py"


papers["rhymes"] = Paper(
    citation="Nobody 1999, *Rhymes*",
    tables=rules.tabulate_rhymes.output.tables,
    evidence=lambda: ({}, {}),
)
"""
FILES = {
    "__init__.py": '"""A paper."""\n',
    "rules.smk": RULES,
    "tables.py": """
from captionlab.reporting.tables.render import Block, Cell, Column, Table


def one(name):
    return Table(name, "Rhymes", "Two.", [Column("a")], [Block([[Cell("1")]])], [{"a": 1}], ["a"])


def scores(inputs, params, provenance):
    assert inputs["summary"]
    yield one("rhymes_table1_scores")


def words(inputs, params, provenance):
    assert inputs["published"]
    yield one("rhymes_table2_words")


TABLES = (scores, words)
""",
    "evidence.py": """
from captionlab.reporting.claims.evidence import Evidence


def evidence(inputs, params):
    return Evidence([], lambda row: None)
""",
    "claims.yaml": "[]\n",
    "published.csv": "paper,table,row,column,metric,value,note\n",
    "config.py": """
from pydantic import Field

from captionlab.config.model import Model
from captionlab.config.papers import PaperFacts

FACTS = PaperFacts()


class Config(Model):
    comparable: bool = Field(description="whether published numbers may be compared with those of the run")


def run_mistakes(config, where, block):
    yield from ()
""",
}
CONFIG = {
    "seed": 1,
    "spice": "off",
    "corpora": {"world": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"train": 8, "test": 8}}},
    "captioners": {"given": {"family": "file", "captions": {"world": "given.csv"}}},
    "evaluations": {"main": {"captioners": ["given"], "corpora": ["world"]}},
}
ASKED = {**CONFIG, "papers": {"rhymes": {"comparable": False}}}


@pytest.fixture
def add(checkout):
    """Add the paper to a copy of the checkout, as a folder of this name."""

    def add(name="rhymes"):
        folder = checkout / "src" / "captionlab" / "papers" / name
        folder.mkdir()
        for file, text in FILES.items():
            (folder / file).write_text(text)
        return folder

    return add


def test_its_folder_is_all_that_the_workflow_needs(checkout, add, tmp_path, monkeypatch):
    before = plan_in(checkout, CONFIG, tmp_path / "plan")
    folder = add()
    assert plan_in(checkout, CONFIG, tmp_path / "plan") == before  # a config that does not ask for it
    planned = plan_in(checkout, ASKED, tmp_path / "plan")
    assert {"summarise_rhymes", "plot_rhymes"}.isdisjoint(planned.rules())
    assert planned.tables("rhymes") == ["rhymes_table1_scores", "rhymes_table2_words"]
    assert planned.job("tabulate_rhymes").params["code"]
    assert {"rhymes_claims", "rhymes_published", "rhymes_cells"} <= planned.job("check_claims").inputs.keys()
    assert planned.job("collect_tables").params["papers"] == {"rhymes": "Nobody 1999, *Rhymes*"}
    monkeypatch.setattr(captionlab.papers, "__path__", [*captionlab.papers.__path__, str(folder.parent)])
    its_tables_are_written(planned.job("tabulate_rhymes"), tmp_path)


def its_tables_are_written(job, folder):
    outputs = [str(folder / Path(path).name) for path in job.outputs["tables"]]
    others = {"pictures": folder / "pictures", "cells": folder / "cells.parquet"}
    params = Named(**{**job.params, "provenance": {"config": "toy", "seed": 1}})
    given = SimpleNamespace(input=Named(**job.inputs), params=params, output=Named(tables=outputs, **others))
    main = runpy.run_path(str(ROOT / "workflow" / "scripts" / "tabulate_paper.py"))["main"]
    main(given)
    assert all(Path(path).stat().st_size for path in outputs)
    given.output.tables = outputs[:4]
    with pytest.raises(ValueError, match="declares 'rhymes_table2_words' and does not make it, or the other way round"):
        main(given)


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
