"""Group Relative Policy Optimization against a naive implementation, token by token, and against TRL's loss."""

import copy
import math
from types import SimpleNamespace

import pytest
import torch
from support import vinvl_stand_in as tiny
from support.decodings import decoding_of
from support.sampling_stand_in import (
    LONGEST,
    RewardModel,
    captioner_of,
    log_probs,
    reward_of,
    tokenizer_of_words,
    train_by_grpo,
)

from captionlab.captioners.images import Rows
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.objectives.grpo.objective import LEAST, Grpo, group_advantages
from captionlab.training.objectives.reinforce.objective import caption_log_probs, policy_loss
from captionlab.training.parent import frozen_parent

torch.set_num_threads(1)
SAMPLES, IMAGES, BATCH = 3, 9, 4


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_of_words()


def moved(captioner, by):
    """The captioner as updates may leave it."""
    other = copy.deepcopy(captioner)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(by * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(7)))
    return other


def images():
    return torch.randn(IMAGES, 4, generator=torch.Generator().manual_seed(3))


def batch_of(step=3, updates=1):
    return ImageBatches(images(), BATCH, seed=2, updates=updates)[step]


def grpo(tokenizer, reward=None, stop=None, **options):
    return Grpo(tokenizer, decoding_of("sample", LONGEST, stop=stop), reward or RewardModel(), SAMPLES, **options)


def naive_loss(asked, tokenizer, captioner, before, parent, stop, clip, kl):
    """Equation 3 by loops; of how many tokens the ratio is clipped, and the mean divergence."""
    captions, clipped, divergences = [], 0, []
    for first in range(0, len(asked), SAMPLES):
        rewards = [reward_of(image, caption) for image, caption in asked[first : first + SAMPLES]]
        mean = sum(rewards) / SAMPLES
        deviation = math.sqrt(sum((reward - mean) ** 2 for reward in rewards) / (SAMPLES - 1))
        for (image, caption), reward in zip(asked[first : first + SAMPLES], rewards, strict=True):
            advantage = (reward - mean) / (deviation + 1e-4)
            found = zip(
                *(log_probs(model, tokenizer, images()[image], caption) for model in (captioner, before, parent)),
                strict=True,
            )
            terms, own = [], []
            for number, (now, old, parents) in enumerate(found):
                if number and caption.split()[number - 1] == stop:
                    continue  # the end that follows is forced
                ratio = (now - old.detach()).exp()
                limited = min(max(ratio.item(), 1 - clip), 1 + clip)
                bound = torch.tensor(limited) if limited != ratio.item() else ratio
                clipped += bool(bound * advantage < ratio * advantage)
                quotient = (parents.detach() - now).exp()
                own.append(quotient - quotient.log() - 1)
                terms.append(torch.minimum(ratio * advantage, bound * advantage) - kl * own[-1])
            captions.append(sum(terms) / len(terms))
            divergences.append(sum(own).item() / len(own))
    return -sum(captions) / len(captions), clipped, sum(divergences) / len(divergences)


@pytest.mark.parametrize("stop", [None, "ball"])
@pytest.mark.parametrize("kl", [0.0, 0.7])
def test_an_update_has_the_gradient_of_the_naive_one(tokenizer, stop, kl):
    """The second one on a set of samples, when the captioner has moved far enough for ratios to be clipped."""
    before, parent, reward = captioner_of(tokenizer), captioner_of(tokenizer, seed=2).eval(), RewardModel()
    objective = grpo(tokenizer, reward, stop, clip=0.1, kl=kl, parent=frozen_parent(parent) if kl else None)
    batch = batch_of()
    _, drawn = objective.loss(before, batch)
    objective.end_batch()
    captioner = moved(before, by=0.1)
    loss, statistics = objective.loss(captioner, batch)
    ours = torch.autograd.grad(loss, list(captioner.parameters()))
    assert len(reward.asked) == BATCH * SAMPLES, "captions are rewarded when they are drawn"
    assert [image for image, _ in reward.asked] == batch.images.repeat_interleave(SAMPLES).tolist()

    naive, clipped, divergence = naive_loss(reward.asked, tokenizer, captioner, before, parent, stop, 0.1, kl)
    assert loss.item() == pytest.approx(naive.item(), abs=1e-5)
    for mine, theirs in zip(ours, torch.autograd.grad(naive, list(captioner.parameters())), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)
    assert max(float(part.abs().max()) for part in ours) > 1e-2
    assert clipped > 3
    assert 0 < float(statistics["clipped"]) < 1
    assert float(statistics["kl"]) == pytest.approx(divergence, abs=1e-5) if kl else "kl" not in statistics
    assert any(stop in caption.split() for _, caption in reward.asked) if stop else True
    earned = [reward_of(*one) for one in reward.asked]
    groups = [earned[first : first + SAMPLES] for first in range(0, len(earned), SAMPLES)]
    mean, differing = sum(earned) / len(earned), sum(len({*group}) > 1 for group in groups)
    assert float(drawn["reward"]) == pytest.approx(mean)
    assert float(drawn["twice"]) == pytest.approx(2 * mean)
    assert float(drawn["advantage_deviation"]) == pytest.approx(differing / BATCH, abs=1e-3)
    assert {*statistics} == {"clipped", "log_prob", *(["kl"] if kl else [])}


def test_the_first_update_is_that_of_reinforce_with_normalised_rewards(tokenizer):
    captioner, objective = captioner_of(tokenizer), grpo(tokenizer, kl=0.0)
    loss, statistics = objective.loss(captioner, batch_of())
    ours = torch.autograd.grad(loss, list(captioner.parameters()))
    tokens, advantages = (objective.drawn[0][name] for name in ("tokens", "advantages"))
    visual = batch_of().visual.repeat_interleave(SAMPLES, dim=0)
    found = captioner.log_probs(visual, tokens, torch.ones_like(tokens))
    log_prob = caption_log_probs(found, tokens, tokenizer.ends, "mean-with-end")
    theirs = torch.autograd.grad(policy_loss(advantages, 0.0, log_prob), list(captioner.parameters()))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0)
    assert max(float(part.abs().max()) for part in ours) > 1e-2
    assert loss.item() == pytest.approx(0, abs=1e-5)
    assert float(statistics["log_prob"]) == pytest.approx(log_prob.mean().item(), abs=1e-6)


@pytest.mark.parametrize("kl", [0.0, 0.3])
def test_the_loss_of_trl(tokenizer, kl):
    """TRL's own function on the same log-probabilities; its advantages by its own deviation."""
    trl = pytest.importorskip("trl.trainer.grpo_trainer")
    from trl.trainer.utils import nanstd

    before, parent = captioner_of(tokenizer), captioner_of(tokenizer, seed=2)
    objective = grpo(tokenizer, kl=kl, parent=frozen_parent(parent))
    batch = batch_of()
    objective.loss(before, batch)
    found = objective.drawn[0]
    objective.end_batch()
    captioner = moved(before, by=0.15)
    visual, tokens = batch.visual.repeat_interleave(SAMPLES, dim=0), found["tokens"]
    mask = torch.arange(tokens.shape[1]) < found["lengths"][:, None]
    metrics = {"train": {}, "eval": {}}
    trainer = SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *given, **options: (
            captioner.log_probs(visual, tokens, mask), torch.zeros_like(found["old"]), None,
        ),
        beta=kl, epsilon_low=0.2, epsilon_high=0.2, loss_type="grpo", importance_sampling_level="token",
        args=SimpleNamespace(delta=None, use_bias_correction_kl=False),
        top_entropy_quantile=1.0, off_policy_mask_threshold=None, aux_loss_enabled=False, use_vllm=False,
        _entropy_bonus_enabled=False, current_gradient_accumulation_steps=1, model=captioner,
        accelerator=SimpleNamespace(gather=lambda values: values, reduce=lambda values, reduction: values),
        _metrics={name: Kept() for name in metrics},
    )  # fmt: skip
    inputs = {
        "prompt_ids": tokens[:, :1], "prompt_mask": mask[:, :1], "completion_ids": tokens, "completion_mask": mask,
        "advantages": found["advantages"], "old_per_token_logps": found["old"],
        **({"ref_per_token_logps": found["parent"]} if kl else {}),
    }  # fmt: skip
    theirs = trl.GRPOTrainer._compute_loss(trainer, captioner, inputs)
    ours, statistics = objective.loss(captioner, batch)
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-5)
    gradients = (torch.autograd.grad(one, list(captioner.parameters())) for one in (ours, theirs))
    for mine, other in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-5, rtol=0)
    assert float(statistics["clipped"]) > 0

    rewards = 5 * torch.randn(6, SAMPLES)
    deviation = nanstd(rewards, dim=1)[:, None]
    expected = (rewards - rewards.mean(1, keepdim=True)) / (deviation + LEAST)
    torch.testing.assert_close(group_advantages(rewards), expected, atol=1e-5, rtol=1e-5)


class Kept(dict):
    """What TRL's trainer logs to."""

    def __missing__(self, key):
        self[key] = []
        return self[key]


def test_samples_that_all_earn_the_same_teach_nothing(tokenizer):
    assert group_advantages(torch.tensor([[27.3, 27.3, 27.3], [1.0, 2.0, 3.0]]))[0].tolist() == [0.0] * 3
    captioner = captioner_of(tokenizer)

    def alike(batch, captions):
        return torch.full((len(captions),), 0.1), {}

    loss, statistics = grpo(tokenizer, alike, kl=0.0).loss(captioner, batch_of())
    assert all(not part.any() for part in torch.autograd.grad(loss, list(captioner.parameters())))
    assert float(statistics["advantage_deviation"]) == 0


def test_dropout_is_off(tokenizer):
    """So that the ratio of the first update is 1, and that of the second is the captioner's own move."""
    captioner, objective = captioner_of(tokenizer, dropout=0.5).train(), grpo(tokenizer, kl=0.0)
    batch = batch_of()
    objective.loss(captioner, batch)
    objective.end_batch()
    loss, statistics = objective.loss(captioner, batch)
    assert loss.item() == pytest.approx(0, abs=1e-5), "the captioner has not moved"
    assert float(statistics["clipped"]) == 0
    assert captioner.training is False


def test_a_set_of_samples_serves_several_updates(tokenizer):
    batches = ImageBatches(images(), BATCH, seed=2, updates=3)
    assert len(batches) == 3 * len(ImageBatches(images(), BATCH, seed=2))
    plain = ImageBatches(images(), BATCH, seed=2)
    assert [batches[step].images.tolist() for step in range(12)] == [
        plain[step // 3].images.tolist() for step in range(12)
    ]
    captioner, reward = captioner_of(tokenizer), RewardModel()
    objective = grpo(tokenizer, reward, kl=0.0)
    asked = []
    for step in range(6):
        objective.loss(captioner, batches[step])
        objective.end_batch()
        asked.append(len(reward.asked) // (BATCH * SAMPLES))
    assert asked == [1, 1, 1, 2, 2, 2]


def test_parts_of_a_batch_are_the_batch(tokenizer):
    """However it is cut: what was drawn for the whole is found again by the images of a part."""
    before, parent = captioner_of(tokenizer), captioner_of(tokenizer, seed=2)
    objective = grpo(tokenizer, kl=0.2, parent=frozen_parent(parent))
    batch, captioner = batch_of(), moved(before, by=0.1)
    objective.loss(before, batch)
    objective.end_batch()
    whole, _ = objective.loss(captioner, batch)
    for parts in (2, 3):
        cut = batch.split(parts)
        losses = [objective.loss(captioner, part)[0] * part.weight / batch.weight for part in cut]
        assert sum(losses).item() == pytest.approx(whole.item(), abs=1e-6)
        gradients = (
            torch.autograd.grad(one, list(captioner.parameters()), retain_graph=True) for one in (sum(losses), whole)
        )
        for mine, other in zip(*gradients, strict=True):
            torch.testing.assert_close(mine, other, atol=1e-6, rtol=0)


def test_a_captioner_that_reads_regions(tmp_path):
    """`visual` is no tensor there, captions end by [SEP], and samples of a part are found again in the whole."""
    captioner = tiny.captioner()
    visual = Rows(tiny.images(tmp_path), [*tiny.OBJECTS], "cpu")
    parent = frozen_parent(tiny.captioner(seed=1))
    reward = RewardModel()
    objective = Grpo(tiny.tokenizer(), decoding_of("sample", LONGEST), reward, SAMPLES, kl=0.1, parent=parent)
    batch = ImageBatches(visual, 4, seed=1, updates=2)[0]
    for part in batch.split(2):
        objective.loss(captioner, part)
    objective.end_batch()
    loss, statistics = objective.loss(moved(captioner, by=0.02), batch)
    drawn = [caption for _, caption in reward.asked]
    assert tiny.tokenizer().decode(objective.held["tokens"].tolist()) == drawn
    assert len({*drawn}) > 3
    assert float(statistics["kl"]) > 0
    loss.backward()


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_training_that_is_killed_within_a_set_ends_the_same(tmp_path, accumulate):
    whole, parts = (tmp_path / name for name in ("whole", "parts"))
    for folder in (whole, parts):
        folder.mkdir()
    train_by_grpo(whole, accumulate)
    for fails_at in (3, 4):  # in the first set after two updates, and in the second after two more
        with pytest.raises(InterruptedError):
            train_by_grpo(parts, accumulate, fails_at)
    train_by_grpo(parts, accumulate)
    for name in ("model.safetensors", "training.parquet"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()


def test_one_caption_is_no_group(tokenizer):
    with pytest.raises(ValueError, match=r"objective\.samples is 1; advantages are among at least 2"):
        Grpo(tokenizer, decoding_of("sample", LONGEST), RewardModel(), samples=1)
    with pytest.raises(ValueError, match=r"objective\.kl needs a parent"):
        grpo(tokenizer, kl=0.1)
