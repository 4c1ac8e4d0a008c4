"""Rewards as functions."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from support.hub_models import hub_model
from support.published_models import write_blip_matcher
from support.tiny_run import CORPUS, ENCODER, MODELS

from captionlab.encoders.embeddings import load_embeddings
from captionlab.library.rewards import load_reward
from captionlab.library.runs import open_run
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.store import import_scorer, load_scorer
from captionlab.storage import paths
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import build_reward

CAPTIONS = ["a red car", "two dogs by the sea", "a cat", "a red car and a dog"]


@pytest.fixture(scope="module")
def run(tiny_run):
    return open_run(tiny_run)


@pytest.fixture(scope="module")
def data(run):
    """The training data of the run, as a job of the workflow has them."""
    tables = {table: run.folder / paths.corpus(table, CORPUS) for table in ("images", "captions")}
    features = [str(run.folder / paths.features(ENCODER, CORPUS, "0-of-1"))]
    models = {f"encoders/{ENCODER}": {"directory": run.model("encoders", ENCODER), "features": features}}
    data = TrainingData(tables["images"], features, "cpu", 4, 1, tables["captions"], models)
    data.__dict__["visual"] = load_embeddings(features, data.ids).values
    return data


def trained(config, data):
    """The reward of the captions of the four training images in a training of the workflow."""
    reward = build_reward(config, data)
    return reward(ImageBatch(torch.zeros(4, 1), torch.arange(4)), CAPTIONS)[0].numpy()


@pytest.mark.parametrize("kind", ["discriminative", "accuracy", "similarity"])
@pytest.mark.parametrize("score", ["scaled-cosine", "cosine", "dot-product"])
def test_retrieval_rewards_are_those_of_a_training(run, data, kind, score):
    reward = load_reward(kind, encoder=run.model("encoders", ENCODER), score=score)
    found = reward([run.image(CORPUS, name) for name in data.ids], CAPTIONS)
    config = {"kind": kind, "retriever": ENCODER, "candidates": 4, "score": score}
    assert found == pytest.approx(trained(config, data), rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", ["cider", "bleu", "fluency"])
def test_rewards_by_references_are_those_of_a_training(data, kind):
    reward = load_reward(kind, references=dict(zip(data.ids, data.texts, strict=True)))
    assert reward(data.ids, CAPTIONS).tolist() == trained({"kind": kind}, data).tolist()


def test_several_captions_of_an_image_are_no_candidates_of_each_other(run, data, tmp_path):
    images = [run.image(CORPUS, name) for name in data.ids]
    reward = load_reward("discriminative", encoder=run.model("encoders", ENCODER))
    once = reward(images, CAPTIONS)
    copies = [image.copy() for image in images for _ in range(2)]
    assert reward(copies, [caption for caption in CAPTIONS for _ in range(2)])[::2] == pytest.approx(once, abs=1e-6)
    files = [tmp_path / f"{name}.png" for name in data.ids]
    for file, image in zip(files, images, strict=True):
        image.save(file)
    assert reward([*files, files[0]], [*CAPTIONS, CAPTIONS[0]])[:4] == pytest.approx(once, abs=1e-6)


def test_a_scorer_that_reads_pixels(run, data, tmp_path):
    write_blip_matcher(tmp_path)
    config = {"family": "blip", "heads": 2, "visual_heads": 2}
    import_scorer(config, tmp_path / "model.safetensors", tmp_path / "vocab.txt", tmp_path / "blip")
    images = [run.image(CORPUS, name) for name in data.ids]
    reward = load_reward("scorer", scorer=tmp_path / "blip", scale=2.0)
    scorer = load_scorer(tmp_path / "blip")
    visual = ScorerImages(scorer, [data.images]).visual(data.ids)
    assert reward(images, CAPTIONS) == pytest.approx(2 * scorer.score(visual, CAPTIONS).numpy(), rel=1e-5)
    assert reward(images, CAPTIONS).dtype == np.float64


def test_a_reward_function_of_trl(run, data):
    reward = load_reward("cider", references=dict(zip(data.ids, data.texts, strict=True)))
    function = reward.for_trl("image_id")
    spoken = [[{"role": "assistant", "content": text}] for text in CAPTIONS[:2]]
    spoken += [[{"role": "assistant", "content": [{"type": "text", "text": text}]}] for text in CAPTIONS[2:]]
    columns = {"image_id": data.ids, "trainer_state": SimpleNamespace(global_step=0), "log_metric": print}
    found = function(prompts=["?"] * 4, completions=spoken, completion_ids=[[1]] * 4, **columns)
    assert found == reward(data.ids, CAPTIONS).tolist()
    assert function(prompts=["?"] * 4, completions=CAPTIONS, **columns) == found
    assert function.__name__ == "cider"


def test_trl_trains_by_a_reward(run, data, tmp_path):
    trl = pytest.importorskip("trl")
    from datasets import Dataset
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = hub_model("smolvlm", tmp_path)
    reward, asked = load_reward("similarity", encoder=run.model("encoders", ENCODER)), []

    def watched(*arguments, **columns):
        asked.append((columns["image"], reward.for_trl()(*arguments, **columns)))
        return asked[-1][1]

    turn = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "a photo of"}]}]
    rows = [{"prompt": turn, "image": run.image(CORPUS, name)} for name in data.ids]
    sizes = {"num_generations": 2, "max_completion_length": 4, "per_device_train_batch_size": 4}
    arguments = trl.GRPOConfig(str(tmp_path / "out"), max_steps=1, use_cpu=True, report_to="none", seed=1, **sizes)
    model = AutoModelForImageTextToText.from_pretrained(folder)
    processor = AutoProcessor.from_pretrained(folder)
    trainer = trl.GRPOTrainer(model, watched, arguments, Dataset.from_list(rows), processing_class=processor)
    trainer.train()
    [(images, rewards)] = asked
    assert len(images) == len(rewards) == 4
    assert all(isinstance(value, float) for value in rewards)
    assert trainer.state.log_history[0]["reward"] == pytest.approx(np.mean(rewards), rel=1e-3)


@pytest.mark.parametrize(
    ("given", "load", "part"),
    [
        ("a reward that is not there", lambda run: load_reward("cidre"), "cider"),
        ("a sum of rewards outside of a training", lambda run: load_reward("sum"), "sum"),
        ("questions outside of a training", lambda run: load_reward("questions"), "corpus"),
        ("CIDEr without references", lambda run: load_reward("cider"), "references"),
        ("accuracy without an encoder", lambda run: load_reward("accuracy"), "encoder"),
        ("a scorer without its folder", lambda run: load_reward("scorer"), "scorer"),
        (
            "a scorer of regions",
            lambda run: load_reward("scorer", scorer=run.folder / "models" / "toy-lxmert"),
            "regions",
        ),
        (
            "a captioner in place of a scorer",
            lambda run: load_reward("scorer", scorer=run.model("captioners", "clipcap")),
            "scorer",
        ),
        (
            "a number of candidates",
            lambda run: load_reward("accuracy", encoder=run.model("encoders", ENCODER), candidates=9),
            "candidates",
        ),
        (
            "a score that is not there",
            lambda run: load_reward("accuracy", encoder=run.model("encoders", ENCODER), score="best"),
            "score",
        ),
        (
            "references that are a text",
            lambda run: load_reward("cider", references={"a": "a cat"}),
            "'a' are a text",
        ),
        (
            "an image without references",
            lambda run: load_reward("cider", references={"a": ["a cat"]})(["b"], ["a cat"]),
            "'b'",
        ),
        (
            "fewer images than captions",
            lambda run: load_reward("cider", references={"a": ["a cat"]})(["a"], ["a cat", "a"]),
            "1 images and 2",
        ),
    ],
)
def test_what_does_not_fit_is_refused(tiny_run, tmp_path, answers, given, load, part):
    (tmp_path / "results").symlink_to(tiny_run / "results")
    (tmp_path / "models").symlink_to(MODELS)
    with pytest.raises(ValueError, match=part) as failure:
        load(open_run(tmp_path))
    answers.hold(given, failure.value, part)
