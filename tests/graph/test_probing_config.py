"""The probing paper's part of a config: its mistakes, and what is derived from it."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from support.plans import config_of
from support.probing_run import FIGURES, TABLES

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]
MODELS = ["CLIP", "LXMERT", "ROSITA", "UNITER", "ViLBERT"]
SCORED = {"kind": "scorer", "scorer": "uni"}
CONFIG = yaml.safe_load("""
seed: 1
corpora:
  world: {reader: toyworld, domain: coco, seed: 1, images: {train: 8, test: 8}}
encoders:
  clip: {family: clip, weights: clip.safetensors}
regions:
  boxes: {source: boxes, encoder: clip}
scorers:
  uni:
    family: uniter
    regions: boxes
    corpus: world
    architecture: {vocabulary: 90, positions: 20, width: 8, layers: 1, heads: 1, feed_forward: 8}
    negatives: {encoder: clip, hard: 0.5, nearest: 0.1}
    optimizer: {kind: adamw, lr: 1.0e-3, batch: 4, steps: 2}
  ros: {family: rosita, regions: boxes, weights: rosita.pkl, vocabulary: vocab.txt, scale: 100}
  clip: {family: clip, encoder: clip}
  clip-s: {family: clip, encoder: clip, scale: 2.5}
captioners:
  fc-1: {family: file, captions: {world: a.json}}
  fc-2: {family: file, captions: {world: b.json}}
  fc-uni-1: {family: file, captions: {world: c.json}}
  fc-uni-2: {family: file, captions: {world: d.json}}
  people: {family: human}
  made:
    family: constructed
    captions_of: fc-1
    replacements: {shares: [1.0]}
    templates: [published, mined]
    mined_from: {UNITER: fc-uni-1}
    nouns: [5, 3]
decodings: {}
evaluations:
  main:
    captioners: [fc-1, fc-2, fc-uni-1, fc-uni-2, made, people]
    corpora: [world]
    scorers: [uni, ros, clip, clip-s]
spice: "off"
language: {evaluation: main, model: {corpus: world, splits: [train]}}
papers:
  probing:
    comparable: false
    evaluation: main
    captioners: {CE: [fc-1, fc-2], UNITER: [fc-uni-1, fc-uni-2]}
    corpora: {COCO: world}
    scorers: {UNITER: uni, ROSITA: ros, CLIP: clip, CLIPScore: clip-s}
    constructed: made
""")


def edited(path, value):
    config = copy.deepcopy(CONFIG)
    *parents, last = path.split(".")
    block = config
    for parent in parents:
        block = block[parent]
    if value is ...:
        del block[last]
    else:
        block[last] = value
    return config


def filled(config):
    return checked(config, ROOT)


def test_the_example_is_accepted():
    assert filled(CONFIG)["captioners"]["made"]["replacements"]["draw"] == "frequency"


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("captioners.made.captions_of", "fc-3", "captioners.made.captions_of is 'fc-3', which is not among"),
        ("captioners.made.captions_of", "made", "which is constructed itself"),
        ("captioners.made.mined_from", ..., "give both `templates: [mined]` and"),
        ("captioners.made.templates", ["published"], "give both `templates: [mined]` and"),
        ("captioners.made.templates", ..., "captioners.made.nouns asks for so many nouns in a template"),
        ("captioners.made.mined_from.UNITER", "uni", "captioners.made.mined_from.UNITER is 'uni', which is not among"),
        ("evaluations.main.captioners", ["fc-2", "fc-uni-1", "made"], "it needs its captions_of; add 'fc-1'"),
        ("language", ..., "papers.probing needs a language model"),
        ("papers.probing.evaluation", "nope", "papers.probing.evaluation is 'nope'"),
        ("papers.probing.captioners.CE", ..., "papers.probing.captioners needs the role CE"),
        ("papers.probing.captioners.CE", ["fc-1", "fc-9"], "papers.probing.captioners.CE.1 is 'fc-9'"),
        ("papers.probing.captioners.CE", "people", "a role is played by a captioner that sees the images"),
        ("papers.probing.scorers.UNITER", "unit", "did you mean 'uni'?"),
        ("papers.probing.constructed", "fc-1", "papers.probing.constructed is 'fc-1', whose family is not constructed"),
        (
            "evaluations.main.scorers",
            ["uni"],
            "papers.probing.scorers.CLIP is 'clip', which is not in evaluations.main.scorers",
        ),
    ],
)
def test_a_mistake_is_a_sentence(path, value, sentence):
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        filled(edited(path, value))


@pytest.fixture
def plan(planned):
    """The plan of the example, in which captioners are rewarded by a scorer and CIDEr."""
    config = copy.deepcopy(CONFIG)
    config["decodings"] = {"greedy": {"kind": "greedy", "max_tokens": 10}}
    config["evaluations"]["main"]["decoding"] = "greedy"
    reward = {"kind": "sum", "of": [{"weight": 1, "reward": SCORED}, {"weight": 2, "reward": {"kind": "cider"}}]}
    for number in (1, 2):
        parent, rewarded = f"fc-{number}", f"fc-uni-{number}"
        files = {"weights": f"{parent}.safetensors", "tokenizer": f"{parent}.json"}
        config["captioners"][parent] = {"family": "newfc", "encoder": "clip", **files}
        config["captioners"][rewarded] = {
            "parent": parent,
            "corpus": "world",
            "objective": {"kind": "self-critical", "decoding": "greedy", "reward": reward},
            "optimizer": {"kind": "adam", "lr": 1.0e-3, "batch": 4, "steps": 2},
        }
    return planned(config)


def test_roles_and_their_tables(plan):
    assert plan.tables("probing") == [f"probing_{name}" for name in TABLES]
    job = plan.job("summarise_probing")
    assert job.params["roles"] == {"CE": ["fc-1", "fc-2"], "UNITER": ["fc-uni-1", "fc-uni-2"]}
    assert job.params["job"] == {"evaluation": "main", "decoding": "greedy", "splits": {"world": "test"}}
    assert job.inputs["originals"] == ["results/evaluation/fc-1/main/alignment.parquet"]
    assert job.inputs["measures"][0] == "results/language/fc-1/main/measures.parquet"
    assert job.inputs["spice"] == []
    drawn = plan.job("plot_probing")
    for needed in (drawn, plan.job("tabulate_probing")):
        assert needed.params["cosines"] == {"CLIP": 100.0, "CLIPScore": 250.0}
    assert drawn.inputs["tags"][1] == "results/language/fc-uni-1/main/tags.parquet"


def test_scores_are_printed_in_per_cent(plan):
    scorers = plan.job("summarise_probing").params["scorers"]
    # A probability, one that its settings put into per cent, 100 times a cosine, and 2.5 times one.
    assert {name: printed["factor"] for name, printed in scorers.items()} == {
        "uni": 100.0, "ros": 1.0, "clip": 1.0, "clip-s": 100.0,
    }  # fmt: skip
    assert {name: printed["bounds"] for name, printed in scorers.items()} == {
        "uni": (0.0, 100.0), "ros": (0.0, 100.0), "clip": (-100.0, 100.0), "clip-s": (-250.0, 250.0),
    }  # fmt: skip
    assert Graph(edited("scorers.clip-s.clamp", True), ROOT).score_bounds()["clip-s"] == (0.0, 250.0)
    assert scorers["uni"]["label"] == "UNITER"


def test_a_table_says_how_good_scorers_are_that_were_trained_here(plan):
    assert plan.job("tabulate_probing").inputs["matching"] == ["results/scorers/uni/matching.parquet"]


def test_rewards_are_read_off_the_objectives(plan):
    assert plan.job("summarise_probing").params["rewards"] == {"CE": [], "UNITER": ["UNITER"]}


def test_constructed_captions_depend_on_their_settings_alone(plan):
    job = plan.job("construct_captions", captioner="made", evaluation="main")
    assert job.params["config"] == {
        "nouns": [5, 3], "replacements": {"draw": "frequency", "others": "any", "shares": [1.0]},
        "templates": ["published", "mined"],
    }  # fmt: skip
    assert job.inputs["tags"] == "results/language/fc-1/main/tags.parquet"
    assert job.params["mined"] == ["UNITER"]
    assert job.inputs["mined"] == ["results/language/fc-uni-1/main/tags.parquet"]


def test_the_toy_config_asks_for_the_whole_paper(planned):
    """Every table and figure, and a training on each scorer."""
    config = config_of("config")
    plan = planned(config)
    assert plan.tables("probing") == [f"probing_{name}" for name in (*TABLES, "effects")]
    assert plan.figures("probing") == [f"probing_{name}" for name in FIGURES]
    params = plan.job("summarise_probing").params
    assert params["metrics"] == ["clipscore", "chair", "diversity"]
    assert {role: of for role, of in params["rewarding_encoders"].items() if of} == {"CLIP": ["toy-clip-a"]}
    assert sorted(scorer["label"] for scorer in params["scorers"].values()) == MODELS
    for model in MODELS:
        (name,) = params["roles"][model]
        assert (params["rewards"][model], config["captioners"][name]["parent"]) == ([model], params["roles"]["CE"][0])
    made = config["captioners"][config["papers"]["probing"]["constructed"]]
    assert (made["nouns"], made["templates"]) == ([3, 4, 5, 6, 7], ["published", "mined"])


def test_seeds_and_what_is_beyond_the_paper_go_on_top_of_it(planned):
    """Three trainings of everything, which differ by their seed alone; what is beyond is updated as for one scorer."""
    config = config_of("config", "toy_probing")
    params, captioners = planned(config).job("summarise_probing").params, checked(config, ROOT)["captioners"]
    rewards, roles = params["rewards"], params["roles"]
    beyond = ["UNITER and KL", "UNITER and fluency", "all five", "in turn"]
    assert set(roles) == {"CE", *MODELS, *beyond}
    assert [rewards[role] for role in MODELS] == [[model] for model in MODELS]
    assert [len(rewards[role]) for role in beyond] == [1, 1, 5, 5]
    for role in (*MODELS, *beyond):
        blocks = [captioners[name] for name in roles[role]]
        assert [block["seed"] for block in blocks] == [config["seed"], 2, 3]
        assert all({**block, "seed": None} == {**blocks[0], "seed": None} for block in blocks)
        assert role in MODELS or blocks[0]["optimizer"] == captioners["toy-fc-uniter"]["optimizer"]
    assert set(params["captioners"]) >= {name for names in roles.values() for name in names}
