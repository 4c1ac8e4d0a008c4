"""Products of matrices by oneDNN have the bits of MKL's, or MKL computes them."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from captionlab.networks import products
from captionlab.networks.products import FEWEST, NARROWEST, PART

has_the_bits = pytest.mark.skipif(
    not products._has_the_bits_of_torch(), reason="MKL adds in another order on this processor, or torch lacks it"
)


@pytest.fixture(autouse=True)
def one_thread():
    """Meanwhile torch has one, as a training has."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


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


TERMS = [1, 16, 100, PART - 1, PART, PART + 1, 250, 2 * PART - 1, 2 * PART, 2 * PART + 1, 500, 768, 1000]


@has_the_bits
@pytest.mark.parametrize("first", ["rows", "columns", "gaps"])
@pytest.mark.parametrize("second", ["rows", "columns", "gaps"])
def test_products_have_the_bits_of_mkl(first, second):
    generator = torch.Generator().manual_seed(0)
    for terms in TERMS:
        for rows, columns in ((NARROWEST, 100), (64, NARROWEST), (33, 65), (300, 70)):
            x, y = laid_out(rows, terms, first, generator), laid_out(terms, columns, second, generator)
            bias = torch.randn(columns, generator=generator)
            assert torch.equal(products._product(x, y), by_mkl(x, y)), (rows, terms, columns)
            own = torch.addmm(bias, x, y, out=torch.empty(rows, columns))
            assert torch.equal(products._product(x, y, bias), own), (rows, terms, columns)


@pytest.mark.parametrize("terms", TERMS)
def test_products_agree_with_those_of_doubles(terms):
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(40, terms, generator=generator), torch.randn(terms, 50, generator=generator)
    bias = torch.randn(50, generator=generator)
    exact = x.double() @ y.double() + bias.double()
    torch.testing.assert_close(products._product(x, y, bias).double(), exact, rtol=0, atol=1e-6 * terms)


def test_parts_are_the_whole_sum():
    for terms in TERMS:
        parts = products._parts(terms)
        assert [one for part in parts for one in range(terms)[part]] == list(range(terms))
        assert all(len(range(terms)[part]) <= PART for part in parts)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("shapes", [((200, 200), (200, 200)), ((4, 5), (5, 6)), ((0, 5), (5, 6)), ((4, 0), (0, 6))])
def test_what_onednn_is_not_for_is_torchs(dtype, shapes):
    """Other precisions, and matrices that are small or empty."""
    x, y = (torch.arange(3 * torch.Size(shape).numel()).view(3, *shape)[1].remainder(7).to(dtype) for shape in shapes)
    room, row = x.new_empty(len(x), y.shape[1]), y[:1].sum(0)
    assert torch.equal(products._mm(x, y), torch.mm(x, y, out=room))
    assert torch.equal(products._addmm(row, x, y, alpha=3), torch.addmm(row, x, y, alpha=3, out=room))


@pytest.mark.parametrize("bias", [(300, 200), (1, 200), (1,), ()])
def test_other_sums_of_products_are_torchs(bias):
    """Of what is no row, or of multiples."""
    generator = torch.Generator().manual_seed(0)
    added, x, y = (torch.randn(shape, generator=generator) for shape in (bias, (300, 100), (100, 200)))
    assert x.numel() * 200 >= FEWEST
    torch.testing.assert_close(products._addmm(added, x, y), added + by_mkl(x, y))
    torch.testing.assert_close(products._addmm(added, x, y, beta=0.5, alpha=2), 0.5 * added + 2 * by_mkl(x, y))


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(RuntimeError, match="300x100 and 101x200"):
        products._mm(torch.ones(300, 100), torch.ones(101, 200))


def test_several_threads_are_torchs(monkeypatch):
    torch.set_num_threads(2)
    monkeypatch.setattr(products, "_product", lambda *_: pytest.fail("oneDNN was asked"))
    x, y = torch.ones(300, 100), torch.ones(100, 200)
    assert torch.equal(products._mm(x, y), torch.full((300, 200), 100.0))


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
    monkeypatch.setattr(products, "_replaced", [])
    assert not products.use_onednn()
    assert products._replaced == []
