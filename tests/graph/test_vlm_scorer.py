"""Models of the Hugging Face hub as scorers in plans: as metric, reward, in judgements and papers, of another run."""

import copy
import json
import math

import pytest
import yaml
from support.plans import ROOT, plan

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

CONFIG = yaml.safe_load("""
seed: 1
spice: "off"
corpora:
  world: {reader: toyworld, domain: coco, seed: 1, images: {train: 8, test: 8}}
encoders:
  clip: {family: clip, weights: clip.safetensors}
scorers:
  vqa: {family: vlm, weights: hub/vlm, dtype: bfloat16}
  likely: {family: vlm, weights: hub/vlm, score: likelihood, chat: Describe the image.}
captioners:
  base: {family: clipcap, encoder: clip, weights: clipcap.pt, tokenizer: tokenizer.json}
  tuned:
    parent: base
    corpus: world
    objective: {kind: reinforce, reward: {kind: scorer, scorer: vqa}, baseline: none, decoding: greedy}
    optimizer: {kind: adam, lr: 1.0e-3, batch: 4, steps: 2}
  made: {family: constructed, captions_of: base, replacements: {shares: [1.0]}}
decodings:
  greedy: {kind: greedy, max_tokens: 8}
evaluations:
  main: {captioners: [base, tuned, made], corpora: [world], decoding: greedy, scorers: [vqa, likely]}
judgements:
  simulated: {reader: simulated, corpus: world, images: 8, scorers: [vqa, likely]}
language: {evaluation: main, model: {corpus: world, splits: [train]}}
papers:
  probing:
    comparable: false
    evaluation: main
    captioners: {CE: base, VQAScore: tuned}
    scorers: {VQAScore: vqa, likelihood: likely}
    corpora: {COCO: world}
    constructed: made
""")
FILES = ("config.json", "model.safetensors", "tokenizer.json")
IMAGES = "results/corpora/world/images.parquet"


def files_of(*scorers):
    return [f"results/scorers/{scorer}/{file}" for scorer in scorers for file in FILES]


def edited(scorer, **keys):
    config = copy.deepcopy(CONFIG)
    config["scorers"][scorer] |= keys
    return config


def test_a_folder_is_imported(planned):
    plan = planned(CONFIG)
    job = plan.job("import_scorer_folder", scorer="likely")
    assert job.inputs["files"] == [str(plan.data / "hub" / "vlm")]
    assert job.makes == files_of("likely")
    assert job.params["config"] == {
        **{"family": "vlm", "score": "likelihood", "chat": "Describe the image.", "answer": "Yes", "scale": 1.0},
        **{"dtype": "float32", "question": 'Does this figure show "{caption}"? Please answer yes or no.'},
    }
    assert "transformers" in str(job.params)
    assert plan.of("import_scorer") == []


def test_it_scores_captions_of_captioners_judged_captions_and_constructed_captions(planned):
    jobs = planned(CONFIG).of("score_alignment")
    assert {job.wildcards["captioner"] for job in jobs} == {"base", "tuned", "made", "simulated"}
    for job in jobs:
        judged = job.wildcards["captioner"] == "simulated"
        images = "results/corpora/simulated/images.parquet" if judged else IMAGES
        corpus = "simulated" if judged else "world"
        assert job.inputs["scorers"] == files_of("vqa", "likely")
        assert job.inputs["features"] == [images]
        assert job.params["sources"] == {name: {corpus: [images]} for name in ("vqa", "likely")}


def test_it_rewards_captions(planned):
    job = planned(CONFIG).job("finetune_captioner", captioner="tuned")
    assert job.params["reward_models"] == {"scorers/vqa": {"directory": "results/scorers/vqa", "features": [IMAGES]}}
    assert job.inputs["reward_models"] == files_of("vqa")


def test_probabilities_are_per_cent_and_their_logarithms_are_not(planned):
    plan = planned(CONFIG)
    params = plan.job("summarise_evaluation").params
    assert params["factors"] == {"likely": 1.0, "vqa": 100.0}
    assert params["bounds"] == {"likely": (-math.inf, 0.0), "vqa": (0.0, 100.0)}
    assert plan.job("correlate_judgements", judgements="simulated").params["factors"] == params["factors"]
    scorers = plan.job("summarise_probing").params["scorers"]
    assert {scorer["label"]: scorer["factor"] for scorer in scorers.values()} == {"VQAScore": 100.0, "likelihood": 1.0}
    assert ("scorers", "vqa") in {(model["section"], model["name"]) for model in described(CONFIG)}


def described(config):
    return Graph(copy.deepcopy(config), ROOT).described_models()


def test_a_scorer_of_another_run_has_its_kind_of_score(tmp_path):
    config = copy.deepcopy(CONFIG)
    config["scorers"]["likely"] = {"run": "other/scorers/likely"}
    folder = tmp_path / "data" / "other" / "scorers" / "likely"
    folder.mkdir(parents=True)
    matching = {"score": "likelihood", "chat": "", "scale": 2.0, "dtype": "float32"}
    (folder / "config.json").write_text(json.dumps({"family": "vlm", "matching": matching, "origin": {}}))
    found = plan(config, tmp_path)
    job = found.job("import_scorer_folder", scorer="likely")
    assert job.inputs["files"] == [str(folder / "model.safetensors"), str(folder / "tokenizer.json")]
    assert job.inputs["beside"] == [str(folder / "config.json")]
    assert job.params["config"] == {"family": "vlm", "score": "likelihood", "scale": 2.0}
    assert found.job("summarise_evaluation").params["bounds"]["likely"] == (-math.inf, 0.0)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"question": "Is this so?"}, "scorers.vqa.question does not contain {caption}"),
        ({"chat": "Describe it."}, "scorers.vqa.chat is not read with score: answer; drop it"),
        ({"score": "likelihood", "answer": "No"}, "scorers.vqa.answer is not read with score: likelihood; drop it"),
        ({"score": "probability"}, "scorers.vqa.score is 'probability'"),
        ({"answer": ""}, "scorers.vqa.answer"),
        ({"vocabulary": "vocab.txt"}, "scorers.vqa has no key 'vocabulary'"),
        ({"corpus": "world"}, "scorers.vqa has no key 'corpus'"),
    ],
)
def test_mistakes(keys, said, answers):
    with pytest.raises(ConfigError) as raised:
        checked(edited("vqa", **keys), ROOT)
    answers.hold(f"`scorers.vqa` of the family vlm with {json.dumps(keys)}", raised.value, said)


def test_a_missing_folder_is_named(tmp_path, answers):
    with pytest.raises(ConfigError) as raised:
        plan(CONFIG, tmp_path, stand_ins=False)
    keys = "scorers.vqa.weights, scorers.likely.weights"
    answers.hold("no folder of a scorer of the hub", raised.value, f"{keys}: no such folder")
