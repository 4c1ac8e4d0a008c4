"""The mean teacher against the updates written out, and through an interruption."""

import copy

import pytest
import torch
from torch.nn import functional

from captionlab.captioners.camel.captioner import Camel
from captionlab.training.loop.batches import CaptionBatch
from captionlab.training.objectives.cross_entropy.objective import MeanTeacher

SIZES = {
    "width": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "heads": 1,
    "feed_forward": 8,
    "memory": 2,
    "meshed": True,
}


def captioner() -> Camel:
    torch.manual_seed(0)
    return Camel(6, 20, start=1, longest=6, head_size=8, dropout=0.0, **SIZES)


def batch(seed: int) -> CaptionBatch:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(2, 20, (4, 5), generator=generator)
    mask = torch.arange(5) < torch.tensor([5, 2, 3, 1])[:, None]
    return CaptionBatch(torch.randn(4, 3, 6, generator=generator), tokens, mask)


def train(model: Camel, objective: MeanTeacher, steps: range) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for step in steps:
        loss, _ = objective.loss(model, batch(step))
        optimizer.zero_grad()
        loss.backward()
        objective.end_batch()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_against_the_updates_written_out():
    model = captioner()
    plain, teacher = copy.deepcopy(model), copy.deepcopy(model)
    losses = train(model, MeanTeacher(model, weight=0.5, decay=0.9), range(4))
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1)
    for step, expected in enumerate(losses):
        part = batch(step)
        total = squares = entropy = 0
        for row in range(4):
            for place in range(int(part.mask[row].sum())):
                ours = plain.logits(part.visual, part.tokens)[row, place]
                theirs = teacher.logits(part.visual, part.tokens)[row, place].detach()
                entropy = entropy - functional.log_softmax(ours, 0)[part.tokens[row, place]]
                squares = squares + (ours - theirs).square().mean()
                total += 1
        loss = entropy / total + 0.5 * squares / total
        assert loss.item() == pytest.approx(expected, abs=1e-5)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for ours, learnt in zip(teacher.parameters(), plain.parameters(), strict=True):
                ours.copy_(0.9 * ours + 0.1 * learnt)


def test_goes_on_from_a_saved_state():
    model = captioner()
    whole = train(model, MeanTeacher(model, 0.1, 0.999), range(6))
    model = captioner()
    objective = MeanTeacher(model, 0.1, 0.999)
    first = train(model, objective, range(3))
    other = captioner()
    other.load_state_dict(model.state_dict())
    resumed = MeanTeacher(captioner(), 0.1, 0.999)
    resumed.load_state_dict(objective.state_dict())
    assert first + train(other, resumed, range(3, 6)) == whole


def test_the_teacher_learns_nothing_by_itself():
    model = captioner()
    objective = MeanTeacher(model, 0.1, 0.999)
    before = copy.deepcopy(objective.teacher.state_dict())
    objective.loss(model, batch(0))[0].backward()
    assert all(parameter.grad is None for parameter in objective.teacher.parameters())
    assert all(torch.equal(before[name], value) for name, value in objective.teacher.state_dict().items())
