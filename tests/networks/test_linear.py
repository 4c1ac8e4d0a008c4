"""Linear layers by oneDNN hold against products of doubles, forwards and backwards."""

import pytest
import torch
from torch.nn import functional

from captionlab.networks import linear as module
from captionlab.networks.linear import FEWEST_WEIGHTS, Linear, linear

INPUTS, OUTPUTS = 513, 1023
by_onednn = pytest.mark.skipif(
    not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()), reason="torch lacks MKL or oneDNN"
)


def given(*shape, transposed, bias, learns):
    """An input of this shape but for its width, weights as a layer or as GPT-2 has them, and a bias."""
    torch.manual_seed(0)
    weight = torch.randn(INPUTS, OUTPUTS).t() if transposed else torch.randn(OUTPUTS, INPUTS)
    assert weight.numel() >= FEWEST_WEIGHTS
    found = {"x": torch.randn(*shape, INPUTS), "w": weight, "b": torch.randn(OUTPUTS) if bias else None}
    return [one if one is None else one.requires_grad_(name in learns) for name, one in found.items()]


def in_double(tensor):
    """The same numbers, which learn as the tensor does."""
    return None if tensor is None else tensor.detach().double().requires_grad_(tensor.requires_grad)


def computed(work, arguments):
    """An output and, where there are any, the gradients of what was given."""
    output = work(*arguments)
    learning = [one for one in arguments if one is not None and one.requires_grad]
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    return [output.detach(), *(torch.autograd.grad((output * weights).sum(), learning) if learning else ())]


@by_onednn
@pytest.mark.parametrize("shape", [(), (1,), (8,), (3, 5), (2, 1, 70)])
@pytest.mark.parametrize("learns", ["", "x", "w", "b", "xwb"])
@pytest.mark.parametrize(("transposed", "bias"), [(False, True), (True, True), (False, False)])
def test_agrees_with_products_of_doubles(shape, learns, transposed, bias, monkeypatch):
    arguments = given(*shape, transposed=transposed, bias=bias, learns=learns)
    exact = computed(functional.linear, [in_double(one) for one in arguments])
    monkeypatch.setattr(module.functional, "linear", lambda *_: pytest.fail("torch's own product was computed"))
    found = computed(linear, arguments)
    assert len(found) == len(exact)
    for ours, theirs in zip(found, exact, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=0, atol=1e-5 * float(theirs.abs().max()))


@by_onednn
@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_lie_as_the_weights_do(transposed):
    """Else torch copies each of them, which takes as long as some products."""
    x, weight, _ = given(4, transposed=transposed, bias=False, learns="w")
    (gradient,) = torch.autograd.grad(linear(x, weight).sum(), [weight])
    assert gradient.stride() == weight.stride()


def test_shapes_that_do_not_fit_are_named():
    x, weight, bias = given(6, transposed=False, bias=True, learns="")
    with pytest.raises(RuntimeError, match=f"6x{INPUTS - 1} and {INPUTS}x{OUTPUTS}"):
        linear(x[:, 1:], weight, bias)


@by_onednn
def test_inputs_of_frozen_weights_are_not_kept():
    """As those of the layers that adapters are added to."""
    x, weight, bias = given(6, transposed=False, bias=True, learns="xb")
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor) or tensor, lambda tensor: tensor):
        linear(x, weight, bias)
    assert [tensor.shape for tensor in kept] == [weight.shape]


def test_no_rows_are_no_error():
    x, weight, bias = given(0, transposed=False, bias=True, learns="xwb")
    output, *gradients = computed(linear, [x, weight, bias])
    assert output.shape == (0, OUTPUTS)
    assert not any(gradient.any() for gradient in gradients)


def test_a_layer_has_the_weights_of_torchs():
    """So files of weights and adapters do not care which of both it is."""
    torch.manual_seed(0)
    ours = Linear(INPUTS, OUTPUTS)
    torch.manual_seed(0)
    theirs = torch.nn.Linear(INPUTS, OUTPUTS)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert all(map(torch.equal, ours.parameters(), theirs.parameters()))
    x = torch.randn(3, INPUTS)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-5)


@pytest.mark.parametrize("change", ["small", "double", "bfloat16", "autocast", "every second", "one for all"])
def test_what_onednn_is_not_for_is_torchs_to_the_bit(change):
    """Small layers, other precisions, the mixed precision of a training, and biases with gaps or without a row each."""
    x, weight, bias = given(6, transposed=False, bias=True, learns="")
    if change == "every second":
        bias = torch.randn(2 * OUTPUTS)[::2]
    if change == "one for all":
        bias = bias[:1]
    if change == "small":
        weight, bias = (one[: FEWEST_WEIGHTS // INPUTS] for one in (weight, bias))
    kind = {"double": torch.double, "bfloat16": torch.bfloat16}.get(change, torch.float32)
    arguments = [one.to(kind) for one in (x, weight, bias)]
    with torch.autocast("cpu", torch.bfloat16, enabled=change == "autocast"):
        assert torch.equal(linear(*arguments), functional.linear(*arguments))
