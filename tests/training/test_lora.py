"""Trainings of adapters against a captioner whose weights are written out as W + alpha / rank * B A."""

import copy

import pytest
import torch
from support.decodings import decoding_of
from torch import nn

from captionlab.captioners.adapters import new_adapters
from captionlab.captioners.blip.captioner import Blip
from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.captioners.store import save_captioner
from captionlab.generation.decoding import decode
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import CaptionBatch, ImageBatches
from captionlab.training.loop.checkpoints import Changing
from captionlab.training.objectives.baselines import Baseline
from captionlab.training.objectives.cross_entropy.objective import CrossEntropy, MeanTeacher
from captionlab.training.objectives.reinforce.objective import Reinforce
from captionlab.training.objectives.self_critical.objective import SelfCritical
from captionlab.training.parent import frozen_parent

RANK, ALPHA = 2, 3
LORA = {"rank": RANK, "alpha": ALPHA, "targets": "all-linear", "dropout": 0.0}
TOKENIZER = Tokenizer.train(["a red ball ."] * 5, 270)
SIZE, END = TOKENIZER.size, TOKENIZER.end
SAMPLES, KL = 3, 0.4
BUILT = {
    "clipcap": lambda: (ClipCap(6, 2, 8, 2, 2, 24, SIZE, 4), (6,)),
    "blip": lambda: (Blip(6, SIZE, 8, 2, 2, 16, 24, prompt=[END], dropout=0.0), (5, 6)),
}


class Plain(nn.Module):
    """A captioner without adapters, whose log-probabilities are a function of given weights."""

    def __init__(self, captioner):
        super().__init__()
        self.captioner = captioner

    def forward(self, *given):
        return self.captioner.log_probs(*given)


@pytest.fixture(params=BUILT)
def both(request, tmp_path):
    """A captioner with adapters that are not 0, its parent in a naive dress, and four images."""
    torch.manual_seed(0)
    captioner, shape = BUILT[request.param]()
    for name, parameter in captioner.named_parameters():
        if parameter.ndim == 2:
            nn.init.normal_(parameter, std=0.4)
        if name.endswith("predictions.bias"):
            parameter.data[END] += 3.0
    for module in captioner.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    captioner.eval()
    plain = Plain(copy.deepcopy(captioner))
    save_captioner(captioner, TOKENIZER, tmp_path / "parent")
    new_adapters(captioner, LORA, tmp_path / "parent", 1)
    for parameter in captioner.parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, std=0.4)
    return captioner.eval(), plain, torch.randn(4, *shape)


def written_out(captioner, plain):
    """A naive log_probs, and the matrices of adapters that it has a gradient for, in the captioner's order."""
    matrices, weights = [], {}
    for name in captioner.adapters.settings["target_modules"]:
        layer, whole = captioner.get_submodule(name), plain.captioner.get_parameter(f"{name}.weight")
        a, b = (part["default"].weight.detach().clone().requires_grad_() for part in (layer.lora_A, layer.lora_B))
        matrices.append((name, a, b))
        change = torch.zeros(len(b), a.shape[1])
        for unit in range(RANK):
            change = change + torch.outer(b[:, unit], a[unit]) * ALPHA / RANK
        weights[f"captioner.{name}.weight"] = whole + (change if isinstance(layer.base_layer, nn.Linear) else change.T)
    return lambda *given: torch.func.functional_call(plain, weights, given), matrices


def check_gradients(captioner, loss, naive, matrices):
    """Every adapter has the naive gradient, and nothing else has one."""
    assert loss.item() == pytest.approx(naive.item(), abs=1e-5)
    loss.backward()
    naive.backward()
    largest = 0.0
    for name, a, b in matrices:
        layer = captioner.get_submodule(name)
        for ours, theirs in ((layer.lora_A["default"].weight, a), (layer.lora_B["default"].weight, b)):
            torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=0)
            largest = max(largest, float(ours.grad.abs().max()))
    assert largest > 1e-2
    reached = {name for name, parameter in captioner.named_parameters() if parameter.grad is not None}
    assert reached == {name for name, _ in captioner.named_parameters() if ".lora_" in name}


def reward(batch, captions):
    """Rewards by image and letters."""
    images = batch.images[batch.rows].repeat_interleave(len(captions) // len(batch.rows)).tolist()
    found = [0.03 * image + sum(map(ord, caption)) % 7 / 10 for image, caption in zip(images, captions, strict=True)]
    return torch.tensor(found), {}


def recorded(captioner):
    """The captions whose log-probabilities are asked for, with and without gradient, as they come."""
    asked, original = [], captioner.log_probs

    def log_probs(visual, tokens, mask):
        asked.append((visual, tokens, mask))
        return original(visual, tokens, mask)

    captioner.log_probs = log_probs
    return asked


def test_cross_entropy(both):
    captioner, plain, visual = both
    tokens = torch.randint(0, SIZE, (4, 5))
    mask = torch.arange(5) < torch.tensor([5, 2, 3, 1])[:, None]
    loss, _ = CrossEntropy().loss(captioner, CaptionBatch(visual, tokens, mask))
    naive, matrices = written_out(captioner, plain)
    found = naive(visual, tokens, mask)
    summed = sum(found[row, place] for row in range(4) for place in range(int(mask[row].sum())))
    check_gradients(captioner, loss, -summed / 11, matrices)


def test_reinforce(both):
    captioner, plain, visual = both
    asked = recorded(captioner)
    sampling = decoding_of("sample", 5)
    objective = Reinforce(
        generate=lambda model, images: decode(model, images, sampling, TOKENIZER).tokens,
        decode=lambda tokens: TOKENIZER.decode(tokens.tolist()),
        ends=(END,),
        reward=reward,
        baseline=Baseline(),
        log_prob="sum",
        dropout=False,
    )
    (batch,) = ImageBatches(visual, 4, seed=2)[0].split(1)
    loss, _ = objective.loss(captioner, batch)
    naive, matrices = written_out(captioner, plain)
    ((images, tokens, mask),) = asked
    earned, _ = reward(batch, TOKENIZER.decode(tokens.tolist()))
    found = naive(images, tokens, mask)
    total = sum(-earned[row] * found[row, place] for row, place in mask.nonzero().tolist())
    check_gradients(captioner, loss, total / 4, matrices)


def test_self_critical_near_the_parent(both):
    """With the parent's divergence, which takes no second model."""
    captioner, plain, visual = both
    asked = recorded(captioner)
    objective = SelfCritical(
        TOKENIZER,
        decoding_of("greedy", 5),
        reward,
        SAMPLES,
        "leave-one-out",
        dropout=False,
        kl=KL,
        parent=frozen_parent(captioner),
    )
    (batch,) = ImageBatches(visual, 4, seed=2)[0].split(1)
    captioner.train()
    loss, statistics = objective.loss(captioner, batch)
    naive, matrices = written_out(captioner, plain)
    (images, tokens, mask), (_, again, _) = asked
    assert torch.equal(tokens, again)
    found, parents = naive(images, tokens, mask), plain(images, tokens, mask).detach()
    lengths = mask.sum(1)
    divergence = (found.sum(1).detach() - parents.sum(1)) / lengths
    assert statistics["kl"].item() == pytest.approx(divergence.mean().item(), abs=1e-5)
    assert divergence.abs().max() > 1e-2
    earned, _ = reward(batch, TOKENIZER.decode(tokens.tolist()))
    net = earned - KL * divergence
    total = 0.0
    for row in range(4 * SAMPLES):
        first = row - row % SAMPLES
        others = [net[other] for other in range(first, first + SAMPLES) if other != row]
        total = total - (net[row] - sum(others) / len(others)) * found[row].sum()
    check_gradients(captioner, loss, total / lengths.sum(), matrices)


def test_the_parent_is_the_captioner_without_its_adapters(both):
    """It is that of a copy, takes no weights of its own, and leaves the captioner as it was."""
    captioner, plain, visual = both
    parent, copied = frozen_parent(captioner), frozen_parent(plain.captioner)
    tokens, mask = torch.randint(0, SIZE, (4, 5)), torch.ones(4, 5, dtype=torch.bool)
    trained = {name for name, parameter in captioner.named_parameters() if parameter.requires_grad}
    for training in (True, False):
        captioner.train(training)
        found = parent(visual, tokens, mask)
        assert torch.equal(found, copied(visual, tokens, mask))
        assert not found.requires_grad
        assert {module.training for module in captioner.modules()} == {training}
        assert {name for name, parameter in captioner.named_parameters() if parameter.requires_grad} == trained
        assert (captioner.log_probs(visual, tokens, mask) - found).abs().max() > 1e-2


def test_a_mean_teacher_shares_what_is_frozen(tmp_path):
    torch.manual_seed(0)
    captioner, shape = BUILT["blip"]()
    save_captioner(captioner, TOKENIZER, tmp_path / "parent")
    new_adapters(captioner, LORA, tmp_path / "parent", 1)
    for parameter in captioner.parameters():
        if parameter.requires_grad:
            nn.init.normal_(parameter, std=0.4)
    objective = MeanTeacher(captioner, weight=0.5, decay=0.9)
    ours, theirs = (dict(one.named_parameters()) for one in (captioner, objective.teacher))
    assert {name for name in ours if ours[name] is not theirs[name]} == {name for name in ours if ".lora_" in name}
    assert objective.state_dict()["teacher"].keys() == Changing(captioner).state_dict().keys()
    before = {name: value.detach().clone() for name, value in ours.items()}
    means = {name: value.detach().clone() for name, value in theirs.items()}
    batch = CaptionBatch(torch.randn(4, *shape), torch.randint(0, SIZE, (4, 3)), torch.ones(4, 3, dtype=torch.bool))
    optimizer = torch.optim.SGD([value for value in ours.values() if value.requires_grad], lr=0.5)
    for _ in range(3):
        loss, _ = objective.loss(captioner, batch)
        optimizer.zero_grad()
        loss.backward()
        objective.end_batch()
        optimizer.step()
        means = {name: 0.9 * mean + 0.1 * ours[name].detach() for name, mean in means.items()}
    objective.loss(captioner, batch)
    for name, value in theirs.items():
        torch.testing.assert_close(value.detach(), means[name], atol=1e-6, rtol=0)
        assert torch.equal(ours[name], before[name]) == (".lora_" not in name)
