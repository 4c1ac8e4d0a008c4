"""Products of matrices on a processor by oneDNN, with the bits of torch's own.

torch multiplies float32 matrices by MKL, which leaves the widest vectors of AMD's processors unused; oneDNN, which
torch has for convolutions, uses them (docs/performance.md, Products of matrices). Rounding makes a sum depend on the
order of its terms. MKL's order on these processors was found by experiment: it adds PART terms, one after the other,
then those of the next PART, and adds both. oneDNN adds one after the other, so given such parts it does the same.
"""

import logging
from typing import Any

import torch
from torch import Tensor

logger = logging.getLogger(__name__)

PART = 192
# With fewer rows or columns MKL adds in another order.
NARROWEST = 16
# Multiplications in a part; fewer are done before oneDNN has begun.
FEWEST = 2**21
# Rows of the first matrix for which it is worth to copy the second one.
FEWEST_ROWS = 32

_library = torch.library.Library("aten", "IMPL")
# torch's own, for whatever oneDNN is not for.
_torchs: dict[str, Any] = {}


def use_onednn() -> bool:
    """Let oneDNN compute torch's products from here on; False where it does not have the bits of torch's own.

    In all of this process, in models of other libraries and in gradients too, while torch has one thread. Nothing
    changes where torch has no MKL or no oneDNN, or where MKL adds in another order, as where it uses wider vectors.
    """
    if not _torchs and _has_the_bits_of_torch():
        for name, product in (("mm", _mm), ("addmm", _addmm)):
            _torchs[name] = torch.library.get_kernel(f"aten::{name}", "CPU")
            _library.impl(name, product, "CPU", with_keyset=True)
        logger.info("Products of matrices are oneDNN's.")
    return bool(_torchs)


def _has_the_bits_of_torch() -> bool:
    """Whether both agree on products that are large enough to be oneDNN's, however the matrices lie."""
    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):
        return False
    generator = torch.Generator().manual_seed(0)
    row, room = torch.randn(128, generator=generator), torch.empty(128, 128)
    for terms in (PART, 2 * PART - 2, 10 * PART + 2):
        x, y = (torch.randn(128, terms, generator=generator) for _ in "xy")
        for one in (x, x.t().contiguous().t()):
            for other in (y.t(), y.t().contiguous()):
                if not torch.equal(_product(one, other, row), torch.addmm(row, one, other, out=room)):
                    return False
    return True


def _mm(keys: Any, x: Tensor, y: Tensor) -> Tensor:
    """In the place of torch.mm."""
    product: Tensor = _product(x, y) if _is_for_onednn(x, y) else _torchs["mm"].call_boxed(keys, x, y)
    return product


def _addmm(keys: Any, bias: Tensor, x: Tensor, y: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """In the place of torch.addmm."""
    if beta == alpha == 1 and _is_for_onednn(x, y) and _is_row(bias, y.shape[1]):
        return _product(x, y, bias)
    product: Tensor = _torchs["addmm"].call_boxed(keys, bias, x, y, beta=beta, alpha=alpha)
    return product


def _is_row(bias: Tensor, columns: int) -> bool:
    return bias.dim() == 1 and len(bias) == columns and bias.is_contiguous() and bias.dtype == torch.float32


def _is_for_onednn(x: Tensor, y: Tensor) -> bool:
    """Whether these are matrices of 32 bits that fit each other, and large enough to be worth it, and for one thread.

    Among several MKL divides a product, and small pieces are added in other orders.
    """
    if not (x.dim() == y.dim() == 2 and x.dtype == y.dtype == torch.float32 and torch.get_num_threads() == 1):
        return False
    (rows, terms), (same, columns) = x.shape, y.shape
    return (
        terms == same
        and min(rows, columns) >= NARROWEST
        and rows * min(terms, PART) * columns >= FEWEST
        and (rows >= FEWEST_ROWS or _is_whole(y))
    )


def _product(x: Tensor, y: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (rows, terms) times y (terms, columns), part by part, plus bias (columns,)."""
    (first, *others), linear = _parts(x.shape[1]), torch.ops.mkldnn._linear_pointwise
    x = x if 1 in x.stride() and 0 not in x.stride() else x.contiguous()
    weights = [y[part] for part in (first, *others)]
    if not _is_whole(y):
        weights = [part.t().contiguous().t() for part in weights]
    found: Tensor = linear.default(x[:, first], weights[0].t(), bias, "none", [], "")
    for part, weight in zip(others, weights[1:], strict=True):
        found = linear.binary(x[:, part], found, weight.t(), None, "add")
    return found


def _is_whole(y: Tensor) -> bool:
    """Whether oneDNN can take parts of a second matrix as they are; with pieces of columns it is very slow."""
    return y.is_contiguous() or (len(y) <= PART and y.t().is_contiguous())


def _parts(terms: int) -> list[slice]:
    """How MKL takes a sum apart; what is left over, even of halves, is a part of its own."""
    size = terms // 2 if PART < terms < 2 * PART else PART
    return [slice(start, start + size) for start in range(0, terms, size)]
