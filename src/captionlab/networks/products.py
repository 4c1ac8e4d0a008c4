"""Products of matrices on a processor by oneDNN, with the bits of torch's own.

torch multiplies float32 matrices by MKL, which leaves the widest vectors of AMD's processors unused; oneDNN, which
torch has for convolutions, uses them (docs/performance.md, Products of matrices). Rounding makes a sum depend on the
order of its terms. MKL's order on these processors was found by experiment: it adds PART terms, one after the other,
then those of the next PART, and adds both. oneDNN adds one after the other, so given such parts it does the same.
"""

import logging

import torch
from torch import Tensor

logger = logging.getLogger(__name__)

PART = 192
# With fewer rows or columns MKL adds in another order.
NARROWEST = 16
# Multiplications in a part; fewer are done before oneDNN has begun.
FEWEST = 2**21
# Rows of the first matrix for which it is worth to lay the second one out anew.
FEWEST_ROWS = 64

_library = torch.library.Library("aten", "IMPL")
_replaced: list[str] = []


def use_onednn() -> bool:
    """From here on oneDNN computes what torch multiplies on the processor, where it is for it; whether it does.

    In all of this process, in models of other libraries and in gradients too, while torch has one thread. Nothing
    changes where torch has no MKL or no oneDNN, or where MKL adds in another order, as where it uses wider vectors.
    """
    if not _replaced and _has_the_bits_of_torch():
        for name, product in (("mm", _mm), ("addmm", _addmm)):
            _library.impl(name, product, "CPU")
            _replaced.append(name)
        logger.info("Products of matrices are oneDNN's.")
    return bool(_replaced)


def _has_the_bits_of_torch() -> bool:
    if not (torch.backends.mkl.is_available() and torch.backends.mkldnn.is_available()):
        return False
    generator = torch.Generator().manual_seed(0)
    for terms in (PART, 2 * PART - 2, 3 * PART + 2):
        x, y = (torch.randn(shape, generator=generator) for shape in ((64, terms), (terms, 64)))
        if not torch.equal(_product(x, y), x @ y):
            return False
    return True


def _mm(x: Tensor, y: Tensor) -> Tensor:
    """In the place of torch.mm."""
    if _is_for_onednn(x, y):
        return _product(x, y)
    product: Tensor = torch.ops.aten.mm.out(x, y, out=_room(x, y))
    return product


def _addmm(bias: Tensor, x: Tensor, y: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """In the place of torch.addmm."""
    row = bias.dim() == 1 and bias.dtype == torch.float32 and bias.is_contiguous() and len(bias) == y.shape[-1]
    if row and beta == alpha == 1 and _is_for_onednn(x, y):
        return _product(x, y, bias)
    product: Tensor = torch.ops.aten.addmm.out(bias, x, y, beta=beta, alpha=alpha, out=_room(x, y))
    return product


def _room(x: Tensor, y: Tensor) -> Tensor:
    return x.new_empty(x.shape[0], y.shape[1])


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
    weight = (y if _is_whole(y) else y.contiguous()).t()
    found: Tensor = linear.default(x[:, first], weight[:, first], bias, "none", [], "")
    for part in others:
        found = linear.binary(x[:, part], found, weight[:, part], None, "add")
    return found


def _is_whole(y: Tensor) -> bool:
    """Whether oneDNN can take parts of a second matrix as they are; it is slow with columns that are not whole."""
    return y.is_contiguous() or (len(y) <= PART and y.t().is_contiguous())


def _parts(terms: int) -> list[slice]:
    """How MKL takes a sum apart; what is left over, even of halves, is a part of its own."""
    size = terms // 2 if PART < terms < 2 * PART else PART
    return [slice(start, start + size) for start in range(0, terms, size)]
