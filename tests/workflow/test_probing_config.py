"""The probing paper's part of a config: its mistakes, and what is derived from it."""

import copy
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from snakemake.utils import update_config

from captionlab.workflow.experiments import Experiments
from captionlab.workflow.probing import PROBING_FIGURES, PROBING_TABLES, Probing
from captionlab.workflow.probing_references import probing_mistakes, reward_scorers

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
    negatives: {encoder: clip}
    optimizer: {batch: 4}
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


def test_the_example_is_accepted():
    assert list(probing_mistakes(CONFIG)) == []


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
    assert sentence in "\n".join(probing_mistakes(edited(path, value)))


@pytest.fixture
def probing():
    config = copy.deepcopy(CONFIG)
    rewards = {"kind": "sum", "of": [{"weight": 1, "reward": {"kind": "scorer", "scorer": "uni"}}, {"weight": 2, "reward": {"kind": "cider"}}]}  # fmt: skip  # noqa: E501
    for name in ("fc-uni-1", "fc-uni-2"):
        config["captioners"][name] = {"parent": "fc-1", "objective": {"kind": "self-critical", "reward": rewards}}
    return Probing(
        SimpleNamespace(
            config=config, papers=config["papers"], captioners=config["captioners"], spice="off",
            evaluation_contexts=lambda: {"main": {"decoding": "given", "splits": {"world": "test"}}},
        )
    )  # fmt: skip


def test_roles_and_their_tables(probing):
    assert probing.roles() == {"CE": ["fc-1", "fc-2"], "UNITER": ["fc-uni-1", "fc-uni-2"]}
    assert probing.first_captioners() == ["fc-1", "fc-uni-1"]
    assert probing.scored("alignment", probing.originals()) == ["results/evaluation/fc-1/main/alignment.parquet"]
    assert probing.language("measures")[0] == "results/language/fc-1/main/measures.parquet"
    assert (probing.spice(), probing.tables()) == ([], list(PROBING_TABLES))
    assert probing.job() == {"evaluation": "main", "decoding": "given", "splits": {"world": "test"}}


def test_scores_are_printed_in_per_cent(probing):
    factors = {name: printed["factor"] for name, printed in probing.scorers().items()}
    # A probability, one that its settings put into per cent, 100 times a cosine, and 2.5 times one.
    assert factors == {"uni": 100.0, "ros": 1.0, "clip": 1.0, "clip-s": 100.0}
    assert probing.scorers()["uni"]["label"] == "UNITER"
    assert probing.matching() == ["results/scorers/uni/matching.parquet"]


def test_rewards_are_read_off_the_objectives(probing):
    assert probing.rewards() == {"CE": [], "UNITER": ["UNITER"]}
    assert reward_scorers({"kind": "alternate", "of": [{"scorer": "a"}, {"of": [{"reward": {"scorer": "b"}}]}]}) == [
        "a",
        "b",
    ]


def test_constructed_captions_depend_on_their_settings_alone(probing):
    job = SimpleNamespace(captioner="made", evaluation="main")
    assert probing.construction_block(job) == {
        "nouns": [5, 3], "replacements": {"shares": [1.0]}, "templates": ["published", "mined"],
    }  # fmt: skip
    assert probing.original_tags(job) == "results/language/fc-1/main/tags.parquet"
    assert probing.mined_models(job) == ["UNITER"]
    assert probing.mined_tags(job) == ["results/language/fc-uni-1/main/tags.parquet"]


def test_without_the_paper_nothing_is_asked_for():
    nothing = Probing(SimpleNamespace(config={}, papers={}, captioners={}, spice="off"))
    assert nothing.tables() == nothing.figures() == nothing.differences() == nothing.captioners() == []
    assert nothing.job() == {}


def test_the_toy_config_asks_for_the_whole_paper():
    """Every table and figure, and a training on each scorer."""
    lab = Experiments(yaml.safe_load((ROOT / "config" / "config.yaml").read_text()), ROOT)
    paper = lab.probing
    assert (paper.tables(), paper.figures()) == (list(PROBING_TABLES), list(PROBING_FIGURES))
    rewards, roles = paper.rewards(), paper.roles()
    assert sorted(scorer["label"] for scorer in paper.scorers().values()) == MODELS
    for model in MODELS:
        (name,) = roles[model]
        assert (rewards[model], lab.captioners[name]["parent"]) == ([model], roles["CE"][0])
    made = lab.captioners[paper.constructed()[0]]
    assert (made["nouns"], made["templates"]) == ([3, 4, 5, 6, 7], ["published", "mined"])


def test_seeds_and_what_is_beyond_the_paper_go_on_top_of_it():
    """Three trainings of everything, which differ by their seed alone and are updated as those of the paper are."""
    config: dict = {}
    for name in ("config.yaml", "toy_probing.yaml"):
        update_config(config, yaml.safe_load((ROOT / "config" / name).read_text()))
    lab = Experiments(config, ROOT)
    rewards, roles = lab.probing.rewards(), lab.probing.roles()
    beyond = ["UNITER and KL", "UNITER and fluency", "all five", "in turn"]
    assert set(roles) == {"CE", *MODELS, *beyond}
    assert [rewards[role] for role in MODELS] == [[model] for model in MODELS]
    assert [len(rewards[role]) for role in beyond] == [1, 1, 5, 5]
    for role in (*MODELS, *beyond):
        blocks = [lab.captioners[name] for name in roles[role]]
        assert [block.get("seed") for block in blocks] == [None, 2, 3]
        assert all({**block, "seed": None} == {**blocks[0], "seed": None} for block in blocks)
        assert all(block["optimizer"] == lab.captioners["toy-fc-uniter"]["optimizer"] for block in blocks)
    assert set(lab.evaluations["probing"]["captioners"]) >= {name for names in roles.values() for name in names}
