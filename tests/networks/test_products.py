"""Products of matrices by oneDNN have the bits of MKL's, or MKL computes them."""

import itertools
import subprocess
import sys

import pytest
import torch
from torch import nn

from captionlab.networks import products
from captionlab.networks.products import NARROWEST, PART

# As a training has it.
torch.set_num_threads(1)

has_the_bits = pytest.mark.skipif(
    not products._has_the_bits_of_torch(), reason="MKL adds in another order on this processor, or torch lacks it"
)


def by_mkl(x, y):
    """torch's own product, whatever stands in its place in this process: the form with `out` is never replaced."""
    return torch.mm(x, y, out=torch.empty(len(x), y.shape[1]))


def laid_out(rows, columns, layout, generator):
    """A random matrix whose rows, or whose columns, lie in one piece; or every second number of such a one."""
    if layout == "columns":
        return torch.randn(columns, rows, generator=generator).t()
    if layout == "gaps":
        return torch.randn(rows, 2 * columns, generator=generator)[:, ::2]
    return torch.randn(rows, columns, generator=generator)


TERMS = [1, 16, 100, PART - 1, PART, PART + 1, 250, 2 * PART - 1, 2 * PART, 2 * PART + 1, 500, 768, 1000, 5000]
SHAPES = [(NARROWEST, 100), (64, NARROWEST), (33, 65), (300, 70), (128, 640)]


def assert_same_bits(ours, theirs, where):
    assert torch.equal(ours.view(torch.int32), theirs.view(torch.int32)), where


@has_the_bits
@pytest.mark.parametrize("first", ["rows", "columns", "gaps"])
@pytest.mark.parametrize("second", ["rows", "columns", "gaps"])
def test_products_have_the_bits_of_mkl(first, second):
    generator = torch.Generator().manual_seed(0)
    for terms, (rows, columns) in itertools.product(TERMS, SHAPES):
        x, y = laid_out(rows, terms, first, generator), laid_out(terms, columns, second, generator)
        bias = torch.randn(columns, generator=generator)
        assert_same_bits(products._product(x, y), by_mkl(x, y), (rows, terms, columns))
        own = torch.addmm(bias, x, y, out=torch.empty(rows, columns))
        assert_same_bits(products._product(x, y, bias), own, (rows, terms, columns))


@pytest.mark.parametrize("terms", TERMS)
def test_products_agree_with_those_of_doubles(terms):
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, terms, generator=generator), torch.randn(terms, 50, generator=generator)
    bias = torch.randn(50, generator=generator)
    exact = x.double() @ y.double() + bias.double()
    torch.testing.assert_close(products._product(x, y, bias).double(), exact, rtol=0, atol=1e-6 * max(terms, 10))


def test_parts_are_the_whole_sum():
    for terms in TERMS:
        parts = products._parts(terms)
        assert [one for part in parts for one in range(terms)[part]] == list(range(terms))
        assert all(len(range(terms)[part]) <= PART for part in parts)


@pytest.fixture
def replaced(monkeypatch):
    """oneDNN is in the place of torch's products; how many of them it is asked for from here on."""
    if not products.use_onednn():
        pytest.skip("MKL adds in another order on this processor")
    asked = []
    product = products._product
    monkeypatch.setattr(products, "_product", lambda *given: asked.append(given) or product(*given))
    return asked


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("shapes", [((200, 200), (200, 200)), ((4, 5), (5, 6)), ((0, 5), (5, 6)), ((4, 0), (0, 6))])
def test_what_onednn_is_not_for_is_torchs(replaced, dtype, shapes):
    """Other precisions, and matrices that are small or empty."""
    x, y = (torch.arange(3 * torch.Size(shape).numel()).view(3, *shape)[1].remainder(7).to(dtype) for shape in shapes)
    room, row = x.new_empty(len(x), y.shape[1]), y[:1].sum(0)
    assert torch.equal(torch.mm(x, y), torch.mm(x, y, out=room))
    assert torch.equal(torch.addmm(row, x, y, alpha=3), torch.addmm(row, x, y, alpha=3, out=room))
    assert not replaced


@pytest.mark.parametrize("bias", [(300, 200), (1, 200), (1,), ()])
def test_other_sums_of_products_are_torchs(replaced, bias):
    """Of what is no row, or of multiples."""
    generator = torch.Generator().manual_seed(0)
    added, x, y = (torch.randn(shape, generator=generator) for shape in (bias, (300, 100), (100, 200)))
    for factors in ({}, {"beta": 0.5, "alpha": 2}):
        own = torch.addmm(added, x, y, **factors, out=torch.empty(300, 200))
        assert_same_bits(torch.addmm(added, x, y, **factors), own, factors)
    assert not replaced
    assert_same_bits(torch.mm(x, y), by_mkl(x, y), "large")
    assert len(replaced) == 1


@pytest.mark.parametrize(("x", "y"), [((300, 100), (101, 200)), ((300, 100), (100,)), ((2, 300, 100), (100, 200))])
def test_shapes_that_do_not_fit_are_torchs_errors(replaced, x, y):
    x, y = torch.ones(x), torch.ones(y)
    with pytest.raises(RuntimeError) as own:
        torch.mm(x, y, out=torch.empty(0))
    with pytest.raises(RuntimeError) as found:
        torch.mm(x, y)
    assert str(found.value) == str(own.value)


def test_several_threads_are_torchs(replaced, monkeypatch):
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    x, y = torch.ones(300, 100), torch.ones(100, 200)
    assert torch.equal(torch.mm(x, y), torch.full((300, 200), 100.0))
    assert not replaced


def gradients():
    """Of a layer of each kind that the toy world has."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(100, 300), nn.ReLU(), nn.Linear(300, 200), nn.MultiheadAttention(200, 4))
    states = network[:3](torch.randn(2, 150, 100))
    network[3](states, states, states)[0].square().mean().backward()
    return [parameter.grad for parameter in network.parameters()]


IN_A_PROCESS = """
from unittest.mock import patch
import test_products as here
import torch
from captionlab.networks import products
torch.set_num_threads(1)
before = here.gradients()
with patch.object(products, "_product", wraps=products._product) as asked:
    assert products.use_onednn() and products.use_onednn()
    asked.reset_mock()
    after = here.gradients()
assert asked.call_count > 10, asked.call_count
assert all(map(torch.equal, before, after))
"""


@has_the_bits
def test_layers_and_gradients_of_a_process_are_the_same_to_the_bit():
    """Also of layers that are torch's own."""
    folder = __file__.rpartition("/")[0]
    subprocess.run([sys.executable, "-W", "error", "-c", IN_A_PROCESS], cwd=folder, check=True)


def test_nothing_is_replaced_where_the_bits_would_differ(monkeypatch):
    monkeypatch.setattr(products, "PART", 50)
    monkeypatch.setattr(products, "_torchs", {})
    assert not products.use_onednn()
    assert products._torchs == {}
