"""The probing paper's part of a config: its mistakes, and what is derived from it."""

import copy
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from snakemake.utils import update_config

from captionlab.papers.probing.paper import FIGURES, TABLES, Probing
from captionlab.workflow.config import ConfigError, checked
from captionlab.workflow.experiments import Experiments
from captionlab.workflow.language import Construction
from captionlab.workflow.scoring import Scoring

ROOT = Path(__file__).parents[2]
MODELS = ["CLIP", "LXMERT", "ROSITA", "UNITER", "ViLBERT"]
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
    return checked(config, ROOT / "workflow" / "schemas" / "config.schema.yaml")


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
        ("papers.probing.captioners.CE", ["fc-1", "fc-9"], "papers.probing.captioners.CE is 'fc-9'"),
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
def lab():
    config = filled(CONFIG)
    rewards = {"kind": "sum", "of": [{"weight": 1, "reward": {"kind": "scorer", "scorer": "uni"}}, {"weight": 2, "reward": {"kind": "cider"}}]}  # fmt: skip  # noqa: E501
    for name in ("fc-uni-1", "fc-uni-2"):
        config["captioners"][name] = {"parent": "fc-1", "objective": {"kind": "self-critical", "reward": rewards}}
    stand_in = SimpleNamespace(
        config=config, captioners=config["captioners"], spice="off",
        evaluation_contexts=lambda: {"main": {"decoding": "given", "splits": {"world": "test"}}},
    )  # fmt: skip
    stand_in.rewards = lambda captioner: Experiments.rewards(stand_in, captioner)
    stand_in.scoring = Scoring(stand_in, SimpleNamespace(embedding=None))
    stand_in.metrics = SimpleNamespace(asked_by=lambda evaluation: [])
    return stand_in


def test_roles_and_their_tables(lab):
    needs, params = Probing(lab).summarised().inputs, Probing(lab).summarised().params
    assert params["roles"] == {"CE": ["fc-1", "fc-2"], "UNITER": ["fc-uni-1", "fc-uni-2"]}
    for needed in (Probing(lab).plotted(), Probing(lab).tabulated()):
        assert needed.params["cosines"] == {"CLIP": 100.0, "CLIPScore": 250.0}
    assert Probing(lab).plotted().inputs["tags"][1] == "results/language/fc-uni-1/main/tags.parquet"
    assert needs["originals"] == ["results/evaluation/fc-1/main/alignment.parquet"]
    assert needs["measures"][0] == "results/language/fc-1/main/measures.parquet"
    assert (needs["spice"], Probing(lab).tables()) == ([], [f"probing_{name}" for name in TABLES])
    assert params["job"] == {"evaluation": "main", "decoding": "given", "splits": {"world": "test"}}


def test_scores_are_printed_in_per_cent(lab):
    scorers = Probing(lab).summarised().params["scorers"]
    # A probability, one that its settings put into per cent, 100 times a cosine, and 2.5 times one.
    assert {name: printed["factor"] for name, printed in scorers.items()} == {
        "uni": 100.0, "ros": 1.0, "clip": 1.0, "clip-s": 100.0,
    }  # fmt: skip
    assert {name: printed["bounds"] for name, printed in scorers.items()} == {
        "uni": (0.0, 100.0), "ros": (0.0, 100.0), "clip": (-100.0, 100.0), "clip-s": (-250.0, 250.0),
    }  # fmt: skip
    clamped = Scoring(SimpleNamespace(config=filled(edited("scorers.clip-s.clamp", True))), lab.scoring.regions)
    assert clamped.bounds()["clip-s"] == (0.0, 250.0)
    assert scorers["uni"]["label"] == "UNITER"
    assert Probing(lab).tabulated().inputs["matching"] == ["results/scorers/uni/matching.parquet"]


def test_rewards_are_read_off_the_objectives(lab):
    assert Probing(lab).summarised().params["rewards"] == {"CE": [], "UNITER": ["UNITER"]}


def test_constructed_captions_depend_on_their_settings_alone(lab):
    job, made = SimpleNamespace(captioner="made", evaluation="main"), Construction(lab)
    assert made.block(job) == {
        "nouns": [5, 3], "replacements": {"draw": "frequency", "others": "any", "shares": [1.0]},
        "templates": ["published", "mined"],
    }  # fmt: skip
    assert made.tags(job) == "results/language/fc-1/main/tags.parquet"
    assert made.mined_models(job) == ["UNITER"]
    assert made.mined_tags(job) == ["results/language/fc-uni-1/main/tags.parquet"]


def test_without_the_paper_nothing_is_asked_for():
    nothing = Probing(SimpleNamespace(config={}))
    assert (nothing.tables(), nothing.figures(), nothing.summarised()) == ([], {}, None)


def test_the_toy_config_asks_for_the_whole_paper():
    """Every table and figure, and a training on each scorer."""
    lab = Experiments(yaml.safe_load((ROOT / "config" / "config.yaml").read_text()), ROOT)
    paper = Probing(lab)
    assert paper.tables() == [f"probing_{name}" for name in (*TABLES, "effects")]
    assert list(paper.figures()) == [f"probing_{name}" for name in FIGURES]
    params = paper.summarised().params
    assert params["metrics"] == ["clipscore", "chair", "diversity"]
    assert {role: of for role, of in params["rewarding_encoders"].items() if of} == {"CLIP": ["toy-clip-a"]}
    assert sorted(scorer["label"] for scorer in params["scorers"].values()) == MODELS
    for model in MODELS:
        (name,) = params["roles"][model]
        assert (params["rewards"][model], lab.captioners[name]["parent"]) == ([model], params["roles"]["CE"][0])
    made = lab.captioners[lab.config["papers"]["probing"]["constructed"]]
    assert (made["nouns"], made["templates"]) == ([3, 4, 5, 6, 7], ["published", "mined"])


def test_seeds_and_what_is_beyond_the_paper_go_on_top_of_it():
    """Three trainings of everything, which differ by their seed alone; what is beyond is updated as for one scorer."""
    config: dict = {}
    for name in ("config.yaml", "toy_probing.yaml"):
        update_config(config, yaml.safe_load((ROOT / "config" / name).read_text()))
    lab = Experiments(config, ROOT)
    rewards, roles = (Probing(lab).summarised().params[name] for name in ("rewards", "roles"))
    beyond = ["UNITER and KL", "UNITER and fluency", "all five", "in turn"]
    assert set(roles) == {"CE", *MODELS, *beyond}
    assert [rewards[role] for role in MODELS] == [[model] for model in MODELS]
    assert [len(rewards[role]) for role in beyond] == [1, 1, 5, 5]
    for role in (*MODELS, *beyond):
        blocks = [lab.captioners[name] for name in roles[role]]
        assert [block["seed"] for block in blocks] == [lab.config["seed"], 2, 3]
        assert all({**block, "seed": None} == {**blocks[0], "seed": None} for block in blocks)
        assert role in MODELS or blocks[0]["optimizer"] == lab.captioners["toy-fc-uniter"]["optimizer"]
    assert set(lab.evaluations["probing"]["captioners"]) >= {name for names in roles.values() for name in names}
