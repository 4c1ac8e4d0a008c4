"""Definitions of metrics: every metric has a definition, and definitions agree with how values are computed."""

from importlib import import_module

import pytest

from captionlab.config.families import score_tables
from captionlab.config.metrics import Definition, MetricFacts
from captionlab.evaluation.definitions import INTERVALS, INTERVALS_OF_DIFFERENCES, define
from captionlab.evaluation.summary import mean
from captionlab.plugins import work_module

TABLES = [*score_tables()]


@pytest.mark.parametrize("table", TABLES)
def test_a_definition_agrees_with_the_computation(table):
    facts = score_tables()[table]
    assert facts.metrics
    metrics = getattr(import_module(work_module("evaluation.metrics", table)), "METRICS", {})
    for name, metric in metrics.items():
        definition = facts.definition(name)
        assert definition is not None, name
        if metric.share:
            assert definition.computation == ("share" if metric.value is mean else "items"), name
        elif metric.value is not mean:
            assert definition.computation == "corpus", name


@pytest.mark.parametrize("table", TABLES)
def test_a_definition_is_a_sentence(table):
    for definition in score_tables()[table].metrics.values():
        assert definition.sentence[0].isalnum()
        assert definition.sentence.endswith(".")
        assert definition.unit
        assert definition.computation in INTERVALS
        assert definition.computation in INTERVALS_OF_DIFFERENCES


def test_a_metric_is_of_the_table_that_defines_it():
    files = {
        "nlg": ["nlg/main.parquet"],
        "retrieval": ["a/main/retrieval.parquet"],
        "questions": ["a/main/questions.parquet"],
        "judge": ["a/main/judge-clair.parquet"],
        "command": ["a/main/command-polos.parquet"],
    }
    of = {
        name: define(name, score_tables(), files).tables
        for name in ("CIDEr", "R@5", "question accuracy, colour", "clair", "clair: no answer", "polos", "other")
    }
    assert of == {
        "CIDEr": ["nlg"],
        "R@5": ["retrieval"],
        "question accuracy, colour": ["questions"],
        "clair": ["judge"],
        "clair: no answer": ["judge"],
        "polos": ["command"],
        "other": [*files],
    }


def test_a_plugin_need_not_define_its_metrics():
    facts = {
        "mine": MetricFacts(place=1),
        "theirs": MetricFacts(place=2, metrics={"m": Definition("A metric.", "%", "mean")}),
    }
    files = {"mine": ["a/main/mine.parquet"], "theirs": ["a/main/theirs.parquet"]}
    assert define("m", facts, files).tables == ["theirs"]
    undefined = define("other", facts, files)
    assert undefined.tables == ["mine"]
    assert "does not define it" in undefined.sentence
    assert "over images" in undefined.interval(difference=False)
