"""Draws are torch's by the same random numbers, and log-probabilities have the bits of torch's own operations."""

import pytest
import torch

from captionlab.networks.sampling import drawn, log_prob_at

torch.set_num_threads(1)


@pytest.mark.parametrize("shape", [(1, 2), (7, 30), (50, 9488)])
@pytest.mark.parametrize("own", [False, True])
def test_draws_are_those_of_multinomial(shape, own):
    torch.manual_seed(1)
    weights = torch.randn(shape).mul_(3).softmax(1)
    weights[:, 0] = 0.0
    found, states = [], []
    for draw in (lambda *arguments: torch.multinomial(arguments[0], 1, generator=arguments[1])[:, 0], drawn):
        torch.manual_seed(2)
        generator = torch.Generator().manual_seed(3) if own else None
        found.append(torch.stack([draw(weights, generator) for _ in range(5)]))
        states.append(generator.get_state() if generator else torch.get_rng_state())
    assert torch.equal(*found)
    assert torch.equal(*states)
    assert (found[1] > 0).all()
    assert shape[1] == 2 or len(found[1].unique()) > 1


def test_exponential_numbers_of_torch():
    """What the draws rest upon: each is made of one uniform number in double precision."""
    for seed in range(3):
        torch.manual_seed(seed)
        expected = torch.empty(1000, 1001).exponential_(1)
        torch.manual_seed(seed)
        assert torch.equal((-torch.rand(1000, 1001, dtype=torch.float64).neg().log1p()).float(), expected)


def test_log_probabilities_and_gradients_are_torchs():
    torch.manual_seed(1)
    values, columns, factors = torch.randn(20, 500).mul_(5), torch.randint(500, (20,)), torch.randn(20)
    ours, theirs = values.clone().requires_grad_(), values.clone().requires_grad_()
    expected = theirs[torch.arange(20), columns] - theirs.logsumexp(1)
    (expected * factors).sum().backward()
    result = log_prob_at(ours, columns)
    (result * factors).sum().backward()
    assert torch.equal(result, expected)
    assert torch.equal(ours.grad, theirs.grad)
    assert torch.allclose(result, values.log_softmax(1)[torch.arange(20), columns], atol=1e-5)


@pytest.mark.parametrize("row", [[0.0, 0.0, 0.0], [0.5, float("nan"), 0.5], [0.5, float("inf"), 0.5]])
def test_nothing_is_drawn_of_weights_that_are_none(row):
    with pytest.raises(RuntimeError, match="nothing can be drawn"):
        drawn(torch.tensor([[0.2, 0.3, 0.5], row]))
