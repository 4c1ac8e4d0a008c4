"""Self-critical training against a naive implementation, caption by caption."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from support import vinvl_stand_in as tiny
from support.decodings import decoding_of
from support.sampling_stand_in import (
    LONGEST,
    WORDS,
    RewardModel,
    captioner_of,
    log_probs,
    reward_of,
    tokenizer_of_words,
)

from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.captioners.images import Rows
from captionlab.captioners.newfc.captioner import NewFC
from captionlab.generation.decoding import decode
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.objectives.reinforce.objective import Reinforce, through_end
from captionlab.training.objectives.self_critical.objective import SelfCritical, self_critical_loss

torch.set_num_threads(1)
GOLDEN = Path(__file__).parents[1] / "golden" / "newfc"
GREEDY = decoding_of("greedy", LONGEST)
SAMPLES = 3


@pytest.fixture
def tokenizer():
    return tokenizer_of_words()


def batch_of(visual, size=4, parts=1):
    return ImageBatches(visual, size, seed=2)[3].split(parts)


def weighed_as(reduction, found, words):
    """The log-probability that weighs a caption of so many words, from those of its tokens."""
    if reduction == "mean":
        return sum(found[:words], torch.zeros(())) / len(found)
    return sum(found) / (len(found) if reduction == "mean-with-end" else 1)


def greedy_caption(captioner, tokenizer, image):
    tokens = []
    logits, state = captioner.start(image[None], 9)
    for _ in range(GREEDY.max_tokens):
        tokens.append(int(logits[0].argmax()))
        if tokens[-1] == 0:
            break
        logits, state = captioner.step(torch.tensor(tokens[-1:]), state)
    return tokenizer.decode([tokens])[0]


@pytest.mark.parametrize("baseline", ["greedy", "leave-one-out"])
@pytest.mark.parametrize("kl", [0.0, 0.7])
@pytest.mark.parametrize("reduction", [None, "mean", "mean-with-end", "sum"])
def test_one_step_has_the_gradient_of_the_naive_one(tokenizer, baseline, kl, reduction):
    visual, reward_model = torch.randn(9, 4), RewardModel()
    captioner, parent = captioner_of(tokenizer), captioner_of(tokenizer, seed=2).eval()
    objective = SelfCritical(
        tokenizer,
        GREEDY,
        reward_model,
        SAMPLES,
        baseline,
        scale=1.7,
        kl=kl,
        parent=parent.log_probs,
        log_prob=reduction,
    )
    (batch,) = batch_of(visual)
    loss, statistics = objective.loss(captioner, batch)
    ours = torch.autograd.grad(loss, list(captioner.parameters()))

    per_image = SAMPLES + (baseline == "greedy")
    assert len(reward_model.asked) == 4 * per_image
    captioner.eval()
    weighed, tokens, earned = 0.0, 0, []
    for place, image in enumerate(batch.images.tolist()):
        asked = reward_model.asked[place * per_image : (place + 1) * per_image]
        assert {of for of, _ in asked} == {image}
        captions = [caption for _, caption in asked]
        if baseline == "greedy":
            assert captions[-1] == greedy_caption(captioner, tokenizer, visual[image])
        found = [log_probs(captioner, tokenizer, visual[image], caption) for caption in captions]
        parents = [log_probs(parent, tokenizer, visual[image], caption) for caption in captions]
        net = [
            1.7 * reward_of(image, caption) - kl * (sum(own) - sum(theirs)).item() / len(own)
            for caption, own, theirs in zip(captions, found, parents, strict=True)
        ]
        for number in range(SAMPLES):
            others = [net[k] for k in range(SAMPLES) if k != number]
            against = net[-1] if baseline == "greedy" else sum(others) / len(others)
            own = weighed_as(reduction, found[number], len(captions[number].split()))
            weighed = weighed - (net[number] - against) * own
            tokens += len(found[number])
            earned.append(reward_of(image, captions[number]))
    naive = weighed / (4 * SAMPLES if reduction else tokens)
    assert loss.item() == pytest.approx(naive.item(), abs=1e-5)
    for mine, theirs in zip(ours, torch.autograd.grad(naive, list(captioner.parameters())), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=0)
    assert max(float(part.abs().max()) for part in ours) > 1e-2
    mean = sum(earned) / len(earned)
    assert float(statistics["reward"]) == pytest.approx(mean)
    assert float(statistics["twice"]) == pytest.approx(2 * mean)
    assert ("kl" in statistics) == bool(kl)


def test_loss_of_the_authors():
    """Reward loss and its gradients as recorded from their criterion."""
    io = load_file(GOLDEN / "io.safetensors")
    captioner, state = NewFC.from_published(load_file(GOLDEN / "weights.safetensors"))
    captioner.load_state_dict(state)
    captioner.eval()
    tokens = io["in.sample_seq"]
    mask = through_end(tokens, 0)
    log_probs = captioner.log_probs(io["in.fc_feats"].repeat_interleave(2, dim=0), tokens, mask)
    reward = io["in.reward"]
    loss = self_critical_loss(reward, torch.zeros_like(reward), log_probs.sum(1), mask.sum(1))
    torch.testing.assert_close(loss, io["out.reward_loss"], atol=1e-5, rtol=0)
    gradients = torch.autograd.grad(loss, [captioner.fc_embed.weight, captioner.logit.bias])
    for ours, name in zip(gradients, ("fc_embed_weight", "logit_bias"), strict=True):
        torch.testing.assert_close(ours, io[f"out.grad_reward_loss_{name}"], atol=1e-5, rtol=0)
    assert json.loads((GOLDEN / "config.json").read_text())["repo"] == "ruotianluo/ImageCaptioning.pytorch"


def test_samples_come_with_dropout_and_the_baseline_without(tokenizer):
    modes = []

    class Watched(NewFC):
        def step(self, tokens, state):
            modes.append((self.training, torch.is_grad_enabled(), len(tokens)))
            return super().step(tokens, state)

    for dropout in (True, False):
        modes.clear()
        captioner = Watched(4, width=6, input_width=5, vocabulary=tokenizer.size)
        objective = SelfCritical(tokenizer, GREEDY, RewardModel(), samples=SAMPLES, dropout=dropout)
        objective.loss(captioner, batch_of(torch.randn(9, 4))[0])
        assert captioner.training is dropout
        assert modes[0] == (dropout, True, 4 * SAMPLES)
        first = next(number for number, mode in enumerate(modes) if not mode[1])
        assert modes[first] == (False, False, 4)


def test_the_samples_of_an_image_differ_already_in_their_first_word(tokenizer):
    """Each has dropout of its own: with nearly all units dropped, few rows are alike."""
    captioner = captioner_of(tokenizer, dropout=0.5)
    seen = []
    captioner.logit.register_forward_hook(lambda module, given, output: seen.append(given[0]))
    SelfCritical(tokenizer, GREEDY, RewardModel(), samples=5).loss(captioner, batch_of(torch.randn(9, 4))[0])
    first = seen[0].view(4, 5, -1) != 0
    assert all(len({tuple(row.tolist()) for row in image}) > 1 for image in first)


def test_a_captioner_whose_steps_have_no_gradient(tokenizer):
    """Log-probabilities come from a second pass."""
    torch.manual_seed(0)
    bytes_ = Tokenizer.train(WORDS, 270)
    captioner = ClipCap(4, 2, 8, 1, 2, 12, bytes_.size)
    captioner.gpt.transformer.drop.p = 0.0
    visual, captions = torch.randn(9, 4), []

    def reward_model(batch, texts):
        captions[:] = texts
        return torch.tensor([float(len(text)) for text in texts]), {}

    objective = SelfCritical(bytes_, GREEDY, reward_model, samples=SAMPLES, dropout=False, baseline="leave-one-out")
    (batch,) = batch_of(visual)
    torch.manual_seed(4)
    loss, _ = objective.loss(captioner, batch)
    (ours,) = torch.autograd.grad(loss, [captioner.clip_project.model[2].weight])
    assert torch.isfinite(ours).all()
    assert ours.abs().max() > 0
    assert len(captions) == 4 * SAMPLES


def test_a_captioner_that_reads_regions(tmp_path):
    """`visual` is no tensor there; captions end by [SEP]."""
    captioner, reward_model = tiny.captioner(), RewardModel()
    batch = ImageBatches(Rows(tiny.images(tmp_path), [*tiny.OBJECTS], "cpu"), 4, seed=1)[0]
    SelfCritical(tiny.tokenizer(), GREEDY, reward_model, samples=SAMPLES).loss(captioner, batch)[0].backward()
    greedy = decode(captioner.eval(), batch.visual, GREEDY, tiny.tokenizer()).tokens
    asked = [caption for _, caption in reward_model.asked]
    assert asked[SAMPLES :: SAMPLES + 1] == tiny.tokenizer().decode(greedy.tolist())
    assert len({*asked}) > SAMPLES + 1
    assert any(parameter.grad.abs().max() > 1e-3 for parameter in captioner.parameters() if parameter.grad is not None)


def test_one_greedy_caption_under_dropout_learns_as_by_reinforce(tokenizer):
    """Where nothing is dropped the captions are the same; the baseline is what the other is told to expect."""

    class Told:
        def predict(self, batch):
            return torch.tensor([0.5, -1.0, 2.0, 0.0])

    captioner, reward_model = captioner_of(tokenizer), RewardModel()
    (batch,) = batch_of(torch.randn(9, 4))
    reinforce = Reinforce(
        lambda model, visual: decode(model, visual, GREEDY, tokenizer).tokens,
        lambda tokens: tokenizer.decode(tokens.tolist()),
        tokenizer.ends, reward_model, Told(), log_prob="mean",
    )  # fmt: skip
    expected, _ = reinforce.loss(captioner, batch)

    def less_for_the_greedy_one(batch, captions):
        rewards, statistics = reward_model(batch, captions)
        rewards[1::2] = Told().predict(batch)  # the second of the two captions of an image is the baseline's
        return rewards, statistics

    objective = SelfCritical(tokenizer, GREEDY, less_for_the_greedy_one, samples=1, temperature=1e-3, log_prob="mean")
    loss, _ = objective.loss(captioner, batch)
    parameters = list(captioner.parameters())
    gradients = (torch.autograd.grad(one, parameters, allow_unused=True) for one in (loss, expected))
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)


@pytest.mark.parametrize("reduction", [None, "mean"])
def test_the_best_caption_of_a_beam_search_learns_against_the_greedy_one(tokenizer, reduction):
    """Dessì et al. 2023, appendix B.1: by hand, with log-probabilities of a second pass."""
    captioner, reward_model = captioner_of(tokenizer, seed=24), RewardModel()
    (batch,) = batch_of(torch.randn(9, 4))
    beam = decoding_of("beam", LONGEST, beams=3)
    objective = SelfCritical(tokenizer, GREEDY, reward_model, samples=1, search=beam, log_prob=reduction)
    loss, statistics = objective.loss(captioner, batch)
    captioner.eval()
    best, greedy = (
        tokenizer.decode(decode(captioner, batch.visual, decoding, tokenizer).tokens.tolist())
        for decoding in (beam, GREEDY)
    )
    images = batch.images.tolist()
    assert reward_model.asked == [
        (image, caption) for image, pair in zip(images, zip(best, greedy, strict=True), strict=True) for caption in pair
    ]
    assert best != greedy
    weighed, tokens = 0.0, 0
    for row, image in enumerate(images):
        found = log_probs(captioner, tokenizer, batch.visual[row], best[row])
        own = weighed_as(reduction, found, len(best[row].split())) if reduction else sum(found)
        weighed = weighed - (reward_of(image, best[row]) - reward_of(image, greedy[row])) * own
        tokens += len(found)
    naive = weighed / (len(images) if reduction else tokens)
    assert loss.item() == pytest.approx(naive.item(), abs=1e-5)
    parameters = list(captioner.parameters())
    for ours, theirs in zip(*(torch.autograd.grad(one, parameters) for one in (loss, naive)), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)
    assert float(statistics["reward"]) == pytest.approx(
        sum(reward_of(image, caption) for image, caption in zip(images, best, strict=True)) / len(images)
    )


def test_temperature_sharpens_samples_and_not_the_gradient(tokenizer):
    captioner, reward_model = captioner_of(tokenizer), RewardModel()
    objective = SelfCritical(tokenizer, GREEDY, reward_model, samples=SAMPLES, temperature=1e-4)
    loss, statistics = objective.loss(captioner, batch_of(torch.randn(9, 4))[0])
    assert loss.item() == pytest.approx(0, abs=1e-6), "every sample is the greedy caption"
    assert float(statistics["reward"]) == pytest.approx(float(statistics["baseline"]))


def test_a_divergence_is_from_a_parent(tokenizer):
    with pytest.raises(ValueError, match=r"objective\.kl needs a parent"):
        SelfCritical(tokenizer, GREEDY, RewardModel(), kl=0.1)


def test_one_sample_is_no_baseline_of_the_others(tokenizer):
    with pytest.raises(ValueError, match="needs at least 2"):
        SelfCritical(tokenizer, GREEDY, RewardModel(), baseline="leave-one-out", samples=1)
