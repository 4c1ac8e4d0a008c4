"""Objectives and the data order against their definitions."""

import numpy as np
import pytest
import torch
from support.training_stand_in import END, VOCABULARY, Lengths, TinyCaptioner, data, decode, sample

from captionlab.training.loop.batches import CaptionBatches, ImageBatches
from captionlab.training.objectives.baselines import RunningMean
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy
from captionlab.training.objectives.reinforce.objective import Reinforce, caption_log_probs, through_end


@pytest.fixture
def batches():
    visual, captions = data()
    return CaptionBatches(visual, captions, size=5, seed=3, padding=END)


def images_of(batch, visual):
    return [int((visual == row).all(1).nonzero()) for row in batch.visual]


def test_each_epoch_is_a_new_permutation_without_its_tail(batches):
    visual, _ = data()
    epochs = [[i for step in range(e * 4, e * 4 + 4) for i in images_of(batches[step], visual)] for e in range(8)]
    assert all(len(set(epoch)) == 20 for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert set().union(*epochs) == set(range(23))


def test_a_batch_is_a_function_of_seed_and_step(batches):
    visual, captions = data()
    again, other = (CaptionBatches(visual, captions, 5, seed, END) for seed in (3, 4))
    for step in (17, 2, 9, 2):
        assert torch.equal(again[step].tokens, batches[step].tokens)
        assert torch.equal(again[step].visual, batches[step].visual)
    assert not torch.equal(other[0].visual, batches[0].visual)


def test_each_image_comes_with_one_of_its_own_references(batches):
    visual, captions = data()
    seen = {i: set() for i in range(23)}
    for step in range(120):
        batch = batches[step]
        assert batch.mask.any(0).all(), "no column is padding alone"
        for image, tokens, mask in zip(images_of(batch, visual), batch.tokens, batch.mask, strict=True):
            caption = tokens[mask].tolist()
            assert caption in captions[image]
            assert (tokens[~mask] == END).all()
            seen[image].add(captions[image].index(caption))
    assert all(seen[i] == set(range(len(captions[i]))) for i in seen), "every reference has its turn"


def test_several_captions_of_an_image_are_neighbours_or_drawn_again():
    visual, captions = data()
    batches = CaptionBatches(visual, captions, 5, 3, END, per_image=2)
    seen = {i: set() for i in range(23)}
    for step in range(120):
        batch = batches[step]
        images = images_of(batch, visual)
        assert images[::2] == images[1::2]
        assert len(set(images)) == 5
        ranks = [
            captions[image].index(tokens[mask].tolist())
            for image, tokens, mask in zip(images, batch.tokens, batch.mask, strict=True)
        ]
        for image, first, second in zip(images[::2], ranks[::2], ranks[1::2], strict=True):
            seen[image].add((first, second))
    # One, two or three references: always the same twice, the only pair, one of two windows.
    assert [sorted(seen[i]) for i in (0, 1, 2)] == [[(0, 0)], [(0, 1)], [(0, 1), (1, 2)]]
    three = CaptionBatches(visual, captions, 5, 3, END, per_image=3)
    for step in range(40):
        images = images_of(three[step], visual)
        assert images[::3] == images[1::3] == images[2::3]


def test_too_few_images_is_one_sentence():
    visual, captions = data()
    with pytest.raises(ValueError, match=r"set optimizer\.batch to 23 or less"):
        CaptionBatches(visual, captions, 24, 0, END)


def test_an_image_without_a_caption_is_one_sentence():
    visual, captions = data()
    captions[4] = []
    with pytest.raises(ValueError, match="1 training images have no caption, the first is number 4"):
        CaptionBatches(visual, captions, 5, 0, END)


def test_parts_are_the_whole():
    visual, _ = data()
    batch = ImageBatches(visual, 7, 0)[1]
    parts = batch.split(3)
    assert torch.equal(torch.cat([part.visual for part in parts]), batch.visual)
    assert torch.cat([part.rows for part in parts]).tolist() == list(range(7))
    assert torch.equal(visual[batch.images], batch.visual)


def test_cross_entropy_is_the_mean_over_real_tokens(batches):
    model = TinyCaptioner(dropout=0.0)
    batch = batches[0]
    loss, statistics = CrossEntropy().loss(model, batch)
    total, count = 0.0, 0
    for visual, tokens, mask in zip(batch.visual, batch.tokens, batch.mask, strict=True):
        for t in range(int(mask.sum())):
            logits = model.logits(visual[None], tokens[None, : t + 1])[0, t].double()
            total -= (logits[tokens[t]] - logits.exp().sum().log()).item()
            count += 1
    assert loss.item() == pytest.approx(total / count, rel=1e-5)
    assert float(statistics["caption_length"]) == pytest.approx(count / 5)


@pytest.mark.parametrize("reduction", ["mean", "mean-with-end", "sum"])
def test_caption_log_probs(reduction):
    tokens = torch.tensor([[4, 5, END, END], [4, 5, 6, 7], [END, 3, END, 2], [1, 2, 3, END]])
    log_probs = -torch.rand(4, 4)
    expected = []
    for row, values in zip(tokens.tolist(), log_probs.tolist(), strict=True):
        words = row.index(END) if END in row else len(row)
        if reduction == "sum":
            expected.append(sum(values[: words + 1]))
        elif reduction == "mean-with-end":
            expected.append(sum(values[: words + 1]) / len(values[: words + 1]))
        else:
            expected.append(sum(values[:words]) / (words + 1 if END in row else words))
    assert torch.allclose(caption_log_probs(log_probs, tokens, [END], reduction), torch.tensor(expected))
    with pytest.raises(ValueError, match=r"objective\.log_prob is 'means'; it must be mean, mean-with-end or sum"):
        caption_log_probs(log_probs, tokens, [END], "means")


def test_through_end():
    tokens = torch.tensor([[4, END, END, 3], [4, 5, 6, 7], [END, 3, END, 2]])
    assert through_end(tokens, [END]).int().tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]


def test_reinforce_estimates_the_gradient_of_the_expected_reward():
    """Over many samples, the policy gradient is that of the mean reward, computed by enumerating all captions."""
    visual, _ = data(2)
    model = TinyCaptioner(dropout=0.0, width=3)
    length = 2
    firsts, seconds = np.divmod(np.arange(VOCABULARY**length), VOCABULARY)
    every = torch.from_numpy(np.stack([firsts, seconds], 1))
    every = every[(every[:, 0] != END) | (every[:, 1] == END)]  # after the end there is nothing but ends

    def reward(batch, captions):
        words = torch.tensor([sum(int(word) % 5 for word in caption.split()) for caption in captions]).float()
        return words, {"accuracy": words}

    values, _ = reward(None, decode(every))
    expected = 0.0
    for row in visual:
        log_probs = model.log_probs(row.expand(len(every), -1), every, through_end(every, [END]))
        expected = expected + (log_probs.sum(1).exp() * values).sum() / len(visual)
    exact = torch.autograd.grad(-expected, model.out.weight)[0]

    torch.manual_seed(1)
    objective = Reinforce(lambda m, v: sample(m, v, length), decode, (END,), reward, RunningMean(), log_prob="sum")
    estimate, draws = torch.zeros_like(exact), 200
    for step in range(draws):
        # Many copies of the images: many samples of each.
        batch = ImageBatches(visual.repeat(200, 1), 400, seed=step)[0]
        loss, statistics = objective.loss(model, batch)
        objective.end_batch()
        estimate += torch.autograd.grad(loss, model.out.weight)[0] / draws
    assert torch.allclose(estimate, exact, atol=0.02)
    assert exact.abs().max() > 0.1
    assert float(statistics["baseline"]) == pytest.approx(expected.item(), abs=0.1)


def test_the_baseline_learns_after_the_whole_batch():
    visual, _ = data()
    objective = Reinforce(sample, decode, (END,), Lengths(), RunningMean())
    model = TinyCaptioner()
    parts = ImageBatches(visual, 20, 0)[0].split(4)
    statistics = [objective.loss(model, part)[1] for part in parts]
    assert all(float(s["baseline"]) == 0.0 for s in statistics)
    objective.end_batch()
    mean = sum(float(s["reward"]) for s in statistics) / 4
    assert objective.baseline.predict(None) == pytest.approx(mean)


@pytest.mark.parametrize("dropout", [True, False])
def test_dropout_is_as_asked(dropout):
    modes = []

    def generate(model, visual):
        modes.append(model.training)
        return sample(model, visual)

    visual, _ = data()
    model = TinyCaptioner().train(not dropout)
    Reinforce(generate, decode, (END,), Lengths(), RunningMean(), dropout=dropout).loss(
        model, ImageBatches(visual, 5, 0)[0]
    )
    assert modes == [dropout]
    assert model.training is dropout
