"""Rewards, baseline and policy loss against the numbers of the authors' code (see config.json beside the tensors)."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from captionlab.training.objectives.baselines import Baseline, RunningMean
from captionlab.training.objectives.reinforce.objective import policy_loss
from captionlab.training.rewards.retrieval import Discriminative, rewards, scores

FOLDER = Path(__file__).with_name("discriminative")
SCALE = json.loads((FOLDER / "config.json").read_text())["logit_scale"]
BATCHES = range(3)


@pytest.fixture(scope="module")
def golden():
    return load_file(FOLDER / "io.safetensors")


@pytest.mark.parametrize("batch", BATCHES)
def test_scores(golden, batch):
    ours = scores(golden[f"in.text_emb_{batch}"], golden[f"in.image_emb_{batch}"], SCALE)
    theirs = golden[f"out.scores_{batch}"]
    others = ~torch.eye(len(ours), dtype=torch.bool)
    # Cosines; the scores are many times as large, and so is what float32 leaves out of them.
    torch.testing.assert_close(ours.diagonal() / SCALE, theirs[:, 0] / SCALE, rtol=0, atol=1e-6)
    torch.testing.assert_close(ours[others] / SCALE, theirs[:, 1:][others] / SCALE, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kind", ["discriminative", "accuracy", "similarity"])
@pytest.mark.parametrize("name", ["mean", "no"])
def test_three_batches(golden, kind, name):
    baseline = {"mean": RunningMean, "no": Baseline}[name]()
    for batch in BATCHES:
        with_all = scores(golden[f"in.text_emb_{batch}"], golden[f"in.image_emb_{batch}"], SCALE)
        reward, accuracy = rewards(kind, with_all, torch.arange(len(with_all)))
        assert torch.allclose(-reward, golden[f"out.{kind}_cost_{batch}"], atol=1e-5)
        assert torch.equal(accuracy, golden[f"out.{kind}_acc_{batch}"].to(accuracy.dtype))
        if name == "mean":
            expected = golden[f"out.{kind}_baseline_before_{batch}"].item()
            assert -baseline.predict(None) == pytest.approx(expected, abs=1e-5, rel=1e-6)
        log_prob = golden[f"in.log_prob_{batch}"].requires_grad_()
        loss = policy_loss(reward, baseline.predict(None), log_prob)
        expected = golden[f"out.{kind}_{name}_policy_loss_{batch}"].item()
        assert loss.item() == pytest.approx(expected, abs=1e-5, rel=1e-6)
        (gradient,) = torch.autograd.grad(loss, log_prob)
        assert torch.allclose(gradient, golden[f"out.{kind}_{name}_grad_log_prob_{batch}"], atol=1e-5)
        baseline.update(reward)


@pytest.mark.parametrize("kind", ["discriminative", "accuracy", "similarity"])
def test_reward_object(golden, kind):
    """The reward that training uses: embeddings from a table, captions through a text tower."""
    from captionlab.training.loop.batches import ImageBatch

    text, images = golden["in.text_emb_0"], torch.cat([golden["in.image_emb_1"], golden["in.image_emb_0"]])
    reward = Discriminative(kind, lambda captions: text[[int(c) for c in captions]], images, len(text), SCALE)
    got, statistics = reward(ImageBatch(torch.zeros(5, 1), torch.arange(5, 10)), ["0", "1", "2", "3", "4"])
    assert torch.allclose(-got, golden[f"out.{kind}_cost_0"], atol=1e-5)
    assert torch.equal(statistics["accuracy"], golden[f"out.{kind}_acc_0"].to(torch.float32))


@pytest.mark.parametrize("hard", [0, 1, 4])
@pytest.mark.parametrize("kind", ["discriminative", "accuracy"])
def test_hard_negatives(golden, kind, hard):
    """Mined neighbours beside the images of the batch; the bank's first neighbour is the image itself."""
    from captionlab.encoders.neighbours import nearest
    from captionlab.training.loop.batches import ImageBatch

    bank, text, images = golden["in.bank_emb"], golden["in.hn_text_emb"], golden["in.hn_indices"][:, 0].long()
    neighbours = golden["in.bank_nns"][:, 1 : hard + 1].long()
    if hard:
        assert torch.equal(nearest(bank, hard)[0], neighbours)
    candidates = len(images) + hard
    embed = lambda captions: text[[int(c) for c in captions]]  # noqa: E731
    reward = Discriminative(kind, embed, bank, candidates, SCALE, neighbours if hard else None)
    got, statistics = reward(ImageBatch(torch.zeros(5, 1), images), [str(row) for row in range(5)])
    assert torch.allclose(-got, golden[f"out.hn{hard}_{kind}_cost"], atol=1e-5)
    assert torch.equal(statistics["accuracy"], golden[f"out.hn{hard}_acc"].to(torch.float32))
