"""A paper that nobody has heard of: a folder, its name in the list of papers, and its block of a config."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from paper_jobs import ROOT, Named

import captionlab.papers
from captionlab.plugins import PluginError
from captionlab.workflow import papers
from captionlab.workflow.experiments import Experiments
from captionlab.workflow.report import labels_of, paper_of

FILES = {
    "__init__.py": '"""A paper."""\n',
    "paper.py": """
from captionlab import paths
from captionlab.reporting.paper import Needs, Paper


class Rhymes(Paper):
    name = "rhymes"
    citation = "Nobody 1999, *Rhymes*"

    def tables(self):
        return ["rhymes_table1_scores", "rhymes_table2_words"] if self.block else []

    def tabulated(self):
        return Needs({"summary": paths.reporting("summary.parquet")})

PAPER = Rhymes
""",
    "tables.py": """
from captionlab.reporting.render import Block, Cell, Column, Table


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
from captionlab.reporting.evidence import Evidence


def evidence(inputs, params):
    return Evidence([], lambda row: None)
""",
    "claims.yaml": "[]\n",
    "published.csv": "paper,table,row,column,metric,value,note\n",
    "config.py": """
from pydantic import Field

from captionlab.config.model import Model


class Config(Model):
    comparable: bool = Field(description="whether published numbers may be compared with those of the run")
""",
}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """As much of a graph as papers ask for, where the new paper is the only one."""
    folder = tmp_path / "papers" / "rhymes"
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.setattr(captionlab.papers, "__path__", [*captionlab.papers.__path__, str(folder.parent)])
    for module in (papers, captionlab.papers):
        monkeypatch.setattr(module, "PAPERS", ("rhymes",))
    return SimpleNamespace(
        root=tmp_path, config={"papers": {"rhymes": {"comparable": False}}},
        software=lambda script, *libraries, loads: {"code": " ".join([script, *loads]), "versions": libraries},
    )  # fmt: skip


def graph_of(lab):
    return papers.Papers(lab, [captionlab.papers.paper_class(name)(lab) for name in captionlab.papers.PAPERS], {})


def test_its_folder_is_all_that_the_graph_needs(lab):
    made = graph_of(lab)
    assert [job.name for verb in ("summarise", "tabulate", "plot") for job in made.jobs(verb)] == ["tabulate_rhymes"]
    (job,) = made.jobs("tabulate")
    assert job.params["code"] == "tabulate_paper captionlab.papers.rhymes.tables"
    assert [Path(path).name for path in made.tables()][::4] == ["rhymes_table1_scores.csv", "rhymes_table2_words.csv"]
    assert {*made.evidence()} == {"rhymes_claims", "rhymes_published", "rhymes_cells"}
    assert made.citations() == {"rhymes": "Nobody 1999, *Rhymes*"}


def test_what_a_table_says_of_comparing_measures_nothing_again():
    """A summary is hours of resampling, and depends on no label and on no verdict."""

    def parameters(comparable):
        config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
        for block in config["papers"].values():
            block["comparable"] = comparable
        made = Experiments(config, ROOT).papers
        return [{job.name: resolved(job.params) for job in made.jobs(verb)} for verb in ("summarise", "tabulate")]

    def resolved(params):
        return {name: value(None) if callable(value) else value for name, value in params.items()}

    (summaries, tables), (same, others) = parameters(False), parameters(True)
    assert summaries.keys() == {"summarise_discritune", "summarise_probing", "summarise_scenes"}
    assert same == summaries
    assert all(tables[name] != params for name, params in others.items())


def test_a_paper_that_lacks_a_file_is_an_error_at_start(lab, tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "FOLDER", tmp_path / "papers")
    papers.check_papers()
    (tmp_path / "papers" / "rhymes" / "published.csv").unlink()
    with pytest.raises(PluginError, match=r"papers/rhymes lacks published\.csv"):
        papers.check_papers()
    monkeypatch.setattr(papers, "PAPERS", ("two_words",))
    with pytest.raises(PluginError, match="the name 'two_words' must be of lower-case letters and digits"):
        papers.check_papers()


def test_without_its_block_it_asks_for_nothing(lab):
    lab.config = {}
    made = graph_of(lab)
    assert [*made.jobs("summarise"), *made.jobs("tabulate"), *made.jobs("plot"), *made.tables()] == []
    assert made.evidence() == made.evidence_params() == made.compared() == {}


def test_its_tables_are_written(lab, tmp_path):
    made = graph_of(lab)
    (job,) = made.jobs("tabulate")
    outputs = [str(tmp_path / Path(path).name) for path in job.outputs["tables"]]
    params = Named(**{**job.params, "provenance": {"config": "toy", "seed": 1}})
    others = {"pictures": tmp_path / "pictures", "cells": tmp_path / "cells.parquet"}
    given = SimpleNamespace(input=Named(**job.inputs), params=params, output=Named(tables=outputs, **others))
    main = runpy.run_path(str(ROOT / "workflow" / "scripts" / "tabulate_paper.py"))["main"]
    main(given)
    assert all(Path(path).stat().st_size for path in outputs)
    given.output.tables = outputs[:4]
    with pytest.raises(ValueError, match="declares 'rhymes_table2_words' and does not make it, or the other way round"):
        main(given)


def test_its_tables_stand_in_a_category_of_their_own(lab, monkeypatch):
    monkeypatch.setattr("captionlab.workflow.report.PAPERS", ("rhymes",))
    wildcards = SimpleNamespace(name="rhymes_table1_scores", ending="csv")
    assert paper_of(wildcards) == "rhymes"
    assert labels_of(wildcards)["table"] == "table 1, scores"
