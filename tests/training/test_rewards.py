"""Rewards against loops over captions and candidates."""

import math
from types import SimpleNamespace

import pytest
import torch

from captionlab.training.loop.batches import ImageBatch
from captionlab.training.rewards import retrieval
from captionlab.training.rewards.retrieval import Discriminative, rewards, scores


def naive_cosine(a, b):
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


@pytest.fixture
def embeddings():
    torch.manual_seed(0)
    return torch.randn(6, 4), torch.randn(20, 4)


def naive_dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def naive_rewards(kind, text, images, candidates, scale, score=naive_cosine):
    """Rewards and accuracies of text i for image i, its competitors being the images of its group."""
    results = []
    for i, caption in enumerate(text.tolist()):
        group = range(i // candidates * candidates, (i // candidates + 1) * candidates)
        row = {j: scale * score(caption, images[j].tolist()) for j in group}
        log_share = row[i] - math.log(sum(math.exp(s) for s in row.values()))
        right = float(row[i] >= max(row.values()))
        results.append(({"discriminative": log_share, "accuracy": right, "similarity": row[i]}[kind], right))
    return torch.tensor(results).T


@pytest.mark.parametrize("kind", ["discriminative", "accuracy", "similarity"])
@pytest.mark.parametrize("candidates", [2, 3, 6])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_groups_of_candidates(embeddings, kind, candidates, scale):
    text, table = embeddings
    images = torch.tensor([7, 3, 19, 0, 11, 5])
    reward = Discriminative(kind, lambda captions: text[[int(c) for c in captions]], table, candidates, scale)
    got, statistics = reward(ImageBatch(torch.zeros(6, 1), images), list("012345"))
    expected, accuracy = naive_rewards(kind, text, table[images], candidates, scale)
    assert torch.allclose(got, expected, atol=1e-5)
    assert torch.equal(statistics["accuracy"], accuracy)


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_a_part_of_a_batch_has_the_candidates_of_the_whole(embeddings, parts):
    text, table = embeddings
    batch = ImageBatch(torch.zeros(6, 1), torch.tensor([7, 3, 19, 0, 11, 5]))
    reward = Discriminative("discriminative", lambda c: text[[int(i) for i in c]], table, 6, 5.0)
    whole, _ = reward(batch, list("012345"))
    names = iter("012345")
    pieces = [reward(part, [next(names) for _ in range(len(part.visual))])[0] for part in batch.split(parts)]
    assert torch.allclose(torch.cat(pieces), whole, atol=1e-6)


def test_a_tie_is_in_favour_of_the_target():
    _, accuracy = rewards("accuracy", torch.tensor([[1.0, 1.0], [1.0, 2.0]]), torch.tensor([1, 0]))
    assert accuracy.tolist() == [1.0, 0.0]


def test_length_of_embeddings_matters_to_a_dot_product_alone(embeddings):
    text, images = embeddings
    assert torch.allclose(scores(3 * text, 0.5 * images, 2.0), scores(text, images, 2.0), atol=1e-6)
    dots = torch.tensor([[2 * naive_dot(one, other) for other in images.tolist()] for one in text.tolist()])
    assert torch.allclose(scores(text, images, 2.0, normalised=False), dots, atol=1e-5)
    assert torch.allclose(scores(3 * text, 0.5 * images, 2.0, normalised=False), 1.5 * dots, atol=1e-5)


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("kind", ["discriminative", "accuracy", "similarity"])
def test_a_reward_by_dot_products(embeddings, kind, hard):
    """Section 3 of Dessì et al. 2023: embeddings are not normalised, neither those of hard negatives."""
    text, table = embeddings
    images, neighbours = torch.tensor([7, 3, 19]), torch.full((20, 1), 12) if hard else None
    embed = lambda captions: text[[int(c) for c in captions]]  # noqa: E731
    reward = Discriminative(kind, embed, table, 3 + hard, 1.0, neighbours, normalised=False)
    got, statistics = reward(ImageBatch(torch.zeros(3, 1), images), list("012"))
    seen = [*table[images].tolist(), *([table[12].tolist()] if hard else [])]
    for row, caption in enumerate(text[:3].tolist()):
        found = [naive_dot(caption, image) for image in seen]
        accuracy = float(found[row] >= max(found))
        share = found[row] - math.log(sum(math.exp(value) for value in found))
        expected = {"discriminative": share, "accuracy": accuracy, "similarity": found[row]}[kind]
        assert got[row].item() == pytest.approx(expected, abs=1e-5)
        assert statistics["accuracy"][row].item() == accuracy


@pytest.mark.parametrize("kind", ["discriminative", "accuracy", "similarity"])
@pytest.mark.parametrize(
    ("score", "scale", "naive"),
    [("scaled-cosine", 20.0, naive_cosine), ("cosine", 1.0, naive_cosine), ("dot-product", 1.0, naive_dot)],
)
def test_each_score_of_the_config(embeddings, monkeypatch, kind, score, scale, naive):
    """The retriever has learned the scale 20, and its embeddings have lengths other than 1."""
    text, table = embeddings
    retriever = SimpleNamespace(logit_scale=20.0, embed_texts=lambda captions: text[[int(c) for c in captions]])
    monkeypatch.setattr(retrieval, "load_encoder", lambda directory, device: retriever)
    models = {"encoders/clip": {"directory": "none", "features": ["embeddings"]}}
    data = SimpleNamespace(device="cpu", features=["embeddings"], visual=table, reward_models=models)
    reward = retrieval.build_retrieval({"kind": kind, "retriever": "clip", "candidates": 3, "score": score}, data)
    images = torch.tensor([7, 3, 19, 0, 11, 5])
    got, statistics = reward(ImageBatch(torch.zeros(6, 1), images), list("012345"))
    expected, accuracy = naive_rewards(kind, text, table[images], 3, scale, naive)
    assert torch.allclose(got, expected, atol=1e-4)
    assert torch.equal(statistics["accuracy"], accuracy)


def test_candidates_must_divide_the_batch(embeddings):
    text, table = embeddings
    reward = Discriminative("discriminative", lambda captions: text, table, 4, 1.0)
    with pytest.raises(ValueError, match=r"multiple of reward\.candidates"):
        reward(ImageBatch(torch.zeros(6, 1), torch.arange(6)), list("012345"))
