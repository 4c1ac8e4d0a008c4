"""Own tables of a config: their jobs, the page that is made for any evaluation, and names that are checked before."""

import pytest
import yaml
from support.plans import ROOT

from captionlab.config.own_tables import ChoiceError, check_names, read_choice
from captionlab.config.whole import ConfigError

EXAMPLE = ROOT / "examples" / "own_table.yaml"
CONFIG = yaml.safe_load("""
seed: 1
spice: "off"
corpora:
  world: {reader: toyworld, domain: coco, seed: 1, images: {test: 8}}
captioners:
  one: {family: human}
evaluations:
  main: {captioners: [one], corpora: [world]}
""")
CHOICE = {"captioners": ["one"], "corpora": ["world"], "evaluations": ["main"], "metrics": [{"metric": "CIDEr"}]}


def with_choice(tmp_path, **others) -> dict:
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({**CHOICE, **others}), encoding="utf-8")
    return {**CONFIG, "own_tables": {"mine": str(path)}}


def test_the_page_is_made_whenever_a_run_has_evaluations(planned):
    plan = planned(CONFIG)
    assert plan.job("make_table_page").makes == ["results/reporting/make_table.html"]
    assert plan.of("make_own_table") == []
    assert "results/reporting/make_table.html" in plan.job("collect_tables").reads


def test_a_choice_file_is_a_job_whose_tables_are_collected(planned, tmp_path):
    plan = planned(with_choice(tmp_path))
    job = plan.job("make_own_table", name="mine")
    assert {path.rpartition(".")[2] for path in job.makes} == {"csv", "md", "tex", "html"}
    assert str(tmp_path / "own.yaml") in job.reads
    assert {*job.makes} <= {*plan.job("collect_tables").reads}


def test_a_wrong_choice_file_is_an_error_before_any_job(planned, tmp_path, answers):
    with pytest.raises(ConfigError) as error:
        planned(with_choice(tmp_path, captioners=["two"]))
    answers.hold("a captioner that is in no evaluation", error.value, "captioners.0 is 'two'")
    with pytest.raises(ConfigError) as error:
        planned({**CONFIG, "own_tables": {"mine": str(tmp_path / "absent.yaml")}}, stand_ins=False)
    answers.hold("a choice file that is not there", error.value, "absent.yaml")


def test_the_example_is_of_the_default_config_and_is_in_the_documentation():
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    captioners = {name: block["captioners"] for name, block in config["evaluations"].items()}
    check_names(read_choice(EXAMPLE), EXAMPLE, captioners, config["evaluations"]["main"]["corpora"])
    page = (ROOT / "docs" / "own_tables.md").read_text(encoding="utf-8")
    assert EXAMPLE.read_text(encoding="utf-8") in page
    mistaken = read_choice(EXAMPLE).model_copy(update={"captioners": ["toy-clipcap-coco", "toy-discritune"]})
    with pytest.raises(ChoiceError) as error:
        check_names(mistaken, "examples/own_table.yaml", captioners, config["evaluations"]["main"]["corpora"])
    assert str(error.value) in page
