"""`compare` of an evaluation: its pairs, mistakes in them, and the jobs that depend on them."""

import copy

import pytest
import yaml
from support.plans import ROOT, plan

from captionlab.config.whole import ConfigError, checked

CONFIG = yaml.safe_load("""
seed: 1
spice: "off"
corpora:
  world: {reader: toyworld, domain: coco, seed: 1, images: {test: 8}}
captioners:
  one: {family: file, captions: {world: one.json}}
  two: {family: file, captions: {world: two.json}}
  three: {family: file, captions: {world: three.json}}
  people: {family: human}
evaluations:
  main: {captioners: [one, people, two], corpora: [world]}
""")


def edited(compare):
    config = copy.deepcopy(CONFIG)
    config["evaluations"]["main"]["compare"] = compare
    return config


@pytest.mark.parametrize(
    ("compare", "pairs"),
    [
        ([["two", "one"]], [["two", "one"]]),
        ("all-pairs", [["one", "people"], ["one", "two"], ["people", "two"]]),
    ],
)
def test_pairs_are_a_parameter_of_the_summary(planned, compare, pairs):
    job = planned(edited(compare)).job("summarise_evaluation")
    assert job.params["pairs"] == {"main": pairs}


def test_only_the_summary_and_its_readers_depend_on_pairs(tmp_path):
    plans = [plan(config, tmp_path, "all") for config in (edited([["one", "two"]]), edited("all-pairs"))]
    before, after = ({(job.rule, *job.wildcards.values()): job.params for job in one.jobs} for one in plans)
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == [("summarise_evaluation",)]


def test_the_table_is_made_if_captioners_are_compared(planned):
    table = "results/reporting/differences.csv"
    assert table in planned(edited("all-pairs")).made()
    assert table not in planned(CONFIG).made()


@pytest.mark.parametrize(
    ("compare", "message"),
    [
        ([["one", "three"]], "evaluations.main.compare has 'three', which is not among its captioners"),
        ([["one", "one"]], "something in it is there twice"),
        ([["one", "two"], ["two", "one"]], "evaluations.main.compare has the pair two and one twice"),
        ([["one", "nobody"]], "nobody"),
        ([["one"]], "evaluations.main.compare"),
        ("all", "evaluations.main.compare"),
        ([], "evaluations.main.compare"),
    ],
)
def test_a_pair_that_cannot_be_compared_is_a_sentence(compare, message):
    with pytest.raises(ConfigError, match=message):
        checked(edited(compare), ROOT)


def test_all_pairs_of_one_captioner_are_none(planned):
    config = edited("all-pairs")
    config["evaluations"]["main"]["captioners"] = ["one"]
    checked(config, ROOT)
    assert "results/reporting/differences.csv" not in planned(config).made()


def test_seeds_that_cannot_be_paired():
    config = yaml.safe_load((ROOT / "tests/runs/config.yaml").read_text(encoding="utf-8"))
    config["evaluations"]["main"]["compare"] = [["base", "tuned"]]
    config["captioners"]["base"]["seeds"], config["captioners"]["tuned"]["seeds"] = [1, 2, 3], [1, 2]
    with pytest.raises(ConfigError, match="base with 3 seeds and tuned with 2, which cannot be compared seed by seed"):
        checked(config, ROOT)


@pytest.mark.parametrize("seeds", [None, 3])
def test_seeds_of_a_wrong_type_are_a_sentence(seeds):
    config = edited([["one", "two"]])
    config["captioners"]["one"]["seeds"] = seeds
    with pytest.raises(ConfigError, match=r"captioners\.one has no key 'seeds'"):
        checked(config, ROOT)


def test_a_mistake_in_a_pair_is_one_sentence():
    with pytest.raises(ConfigError) as failure:
        checked(edited([["one", "tow"]]), ROOT)
    assert "compare.0.1 is 'tow'" in str(failure.value)
    assert "all-pairs" not in str(failure.value)
