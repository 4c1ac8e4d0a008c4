"""Comparisons in plans: their captions, what their answers depend on, and mistakes in their config."""

import copy
import json

import pytest
import yaml
from support.plans import ROOT, plan

from captionlab.config.model import IdleMark
from captionlab.config.served import Served
from captionlab.config.walking import type_of
from captionlab.config.whole import ConfigError, checked
from captionlab.storage import paths

CONFIG = yaml.safe_load("""
seed: 1
spice: "off"
corpora:
  world: {reader: toyworld, domain: coco, seed: 1, images: {test: 8}}
  texts: {reader: karpathy, annotations: texts.json, images: null}
captioners:
  one: {family: file, captions: {world: one.json, texts: one.json}}
  two: {family: file, captions: {world: two.json, texts: two.json}}
  people: {family: human}
evaluations:
  main: {captioners: [one, people, two], corpora: [world]}
  unseen: {captioners: [one, two], corpora: [texts]}
  alone: {captioners: [people], corpora: [texts]}
comparisons:
  seen: {evaluation: main, url: http://localhost:8000/v1, model: judge}
  read: {evaluation: main, captioners: [two, one], model: judge, shows: references, prompt: mine.jinja, images: 5}
""")
CAPTIONS = {name: f"results/captions/{name}/main.parquet" for name in ("one", "people", "two")}
LATER = {
    "url": "https://elsewhere.org/v1", "api_key_variable": "KEY", "price": {"input": 1.0, "output": 2.0}, "budget": 9.0,
    "concurrency": 3, "timeout": 5.0, "retries": 1, "max_failed": 0.5,
}  # fmt: skip


def edited(name, **keys):
    config = copy.deepcopy(CONFIG)
    config["comparisons"][name] |= keys
    config["comparisons"][name] = {key: value for key, value in config["comparisons"][name].items() if value is not ...}
    return config


def test_a_job_reads_what_the_model_is_shown(planned):
    jobs = {name: planned(CONFIG).job("compare_pairs", comparison=name) for name in CONFIG["comparisons"]}
    seen, read = jobs["seen"], jobs["read"]
    assert seen.inputs["captions"] == [*CAPTIONS.values()]
    assert seen.params["captioners"] == [*CAPTIONS]
    assert seen.inputs["images"] == [paths.corpus("images", "world")]
    assert seen.inputs["references"] == []
    assert seen.inputs["prompt"].endswith("resources/comparisons/prompt.jinja")
    assert read.inputs["captions"] == [CAPTIONS["two"], CAPTIONS["one"]]
    assert read.inputs["images"] == []
    assert read.inputs["references"] == [paths.corpus("captions", "world")]
    assert read.inputs["prompt"].endswith("data/mine.jinja")
    answers = {"structured": True, "max_tokens": 1024, "image_size": 1024}
    assert read.params["config"] == {**answers, "images": 5, "model": "judge", "shows": "references"}
    assert {*read.params["versions"]} == {"pillow", "jinja2", "jsonschema"}


def test_no_job_depends_on_how_a_server_is_reached(tmp_path):
    assert {*LATER} == {key for key, field in Served.model_fields.items() if type_of(field).has(IdleMark)}
    plans = [plan(config, tmp_path, "all") for config in (edited("read"), edited("read", **LATER))]
    before, after = ({(job.rule, *job.wildcards.values()): job.params for job in one.jobs} for one in plans)
    assert ("compare_pairs", "read") in before
    assert before == after


def test_tables_are_made_if_the_config_asks_for_comparisons(planned):
    made = planned(CONFIG).made()
    tables = [
        f"results/reporting/{name}" for name in ("comparisons", "comparisons_seen_pairs", "comparisons_read_pairs")
    ]
    assert {f"{table}.{ending}" for table in tables for ending in ("csv", "md", "html")} <= made
    without = planned({key: value for key, value in CONFIG.items() if key != "comparisons"})
    assert not {rule for rule in without.rules() if "compar" in rule or "prefer" in rule or rule == "rank_captioners"}


@pytest.mark.parametrize(
    ("name", "keys", "sentence"),
    [
        ("seen", {"evaluation": "mian"}, "comparisons.seen.evaluation is 'mian'"),
        ("seen", {"model": ...}, "comparisons.seen lacks the key model"),
        ("seen", {"captioners": ["one"]}, "comparisons.seen compares the captions of 'one' alone"),
        ("seen", {"evaluation": "alone"}, "comparisons.seen compares the captions of 'people' alone"),
        ("seen", {"captioners": ["one", "one"]}, "comparisons.seen.captioners is ['one', 'one']"),
        ("seen", {"captioners": ["one", "tow"]}, "comparisons.seen.captioners.1 is 'tow'"),
        (
            "seen",
            {"evaluation": "unseen", "captioners": ["one", "people"]},
            "comparisons.seen.captioners is 'people', which is not in evaluations.unseen.captioners",
        ),
        ("seen", {"evaluation": "unseen"}, "comparisons.seen: the corpus 'texts' is text only"),
        ("read", {"captioners": ["one", "people"]}, "comparisons.read shows references, of which"),
        ("seen", {"shows": "both"}, "comparisons.seen.shows is 'both'"),
        ("seen", {"images": 0}, "comparisons.seen.images is 0"),
        ("seen", {"image-size": 3}, "comparisons.seen has no key 'image-size'"),
        ("seen", {"url": "localhost"}, "comparisons.seen.url"),
    ],
)
def test_a_mistake_in_a_comparison_is_a_sentence(name, keys, sentence, answers):
    with pytest.raises(ConfigError) as error:
        checked(edited(name, **keys), ROOT)
    written = ", ".join(
        f"without `{key}`" if value is ... else f"`{key}: {json.dumps(value)}`" for key, value in keys.items()
    )
    answers.hold(f"comparisons.{name}: {written}", error.value, sentence)


def test_trainings_of_a_captioner_with_seeds_are_compared():
    config = edited("seen", captioners=["fc"])
    config["corpora"]["world"]["images"]["train"] = 8
    config["encoders"] = {"clip": {"family": "clip", "weights": "clip.pt"}}
    config["captioners"]["fc"] = {
        "family": "newfc",
        "encoder": "clip",
        "corpus": "world",
        "architecture": {"width": 8, "input_width": 8, "min_count": 1},
        "objective": {"kind": "cross-entropy"},
        "optimizer": {"kind": "adam", "lr": 1e-3, "batch": 4, "steps": 2},
        "seeds": [1, 2],
    }
    config["decodings"] = {"greedy": {"kind": "greedy", "max_tokens": 8}}
    config["evaluations"]["main"] |= {"captioners": ["one", "two", "fc"], "decoding": "greedy"}
    assert checked(config, ROOT)["comparisons"]["seen"]["captioners"] == ["fc", "fc-2"]


def test_references_need_a_corpus_that_has_them():
    config = edited("read")
    config["corpora"]["world"] = {"reader": "folder", "images": "photos"}
    with pytest.raises(ConfigError, match="the corpus 'world' has no captions"):
        checked({**config, "comparisons": {"read": config["comparisons"]["read"]}}, ROOT)


def test_a_template_that_is_not_there_is_a_sentence(tmp_path, answers):
    with pytest.raises(ConfigError) as error:
        plan(CONFIG, tmp_path, present=["one.json", "two.json", "texts.json"], stand_ins=False)
    answers.hold("comparisons.read: a `prompt` that is not there", error.value, "comparisons.read.prompt")
