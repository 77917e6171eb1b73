"""FLOPs of PyTorch's operators that are no products: closed forms of linear algebra and sorting.

Golub and Van Loan, Matrix Computations, 4th ed. (table of section 8.6 and chapters 3 to 5); Cooley and
Tukey's 5 n log2 n of a complex transform, half of it for a real one; n log2 n comparisons of a sort.
"""

from __future__ import annotations

from math import ceil, log2, prod
from typing import TYPE_CHECKING, Any

from estimator.convert.torch_trace import tensors_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.convert.torch_trace import Torch


def _square(work: Callable[[int], float]) -> Callable[[Any, Torch], float]:
    """Return the formula of an operator on n by n matrices, each of which takes ``work``."""

    def formula(args: Any, _: Torch) -> float:  # noqa: ANN401 - an operator's values
        *rows, n, _n = args[0].shape
        return float(prod(rows) * work(n))

    return formula


def _solve(args: Any, _: Torch) -> float:  # noqa: ANN401 - an operator's values
    """Count an LU factorisation and two triangular solves for each right-hand side."""
    *rows, n, _n = args[0].shape
    sides = args[1].numel() // max(1, prod(rows) * n)
    return float(prod(rows) * (2 * n**3 / 3 + 2 * n * n * sides))


def _triangular(args: Any, out: Torch) -> float:  # noqa: ANN401 - an operator's values
    n = (
        max(args[0].shape[-1], args[1].shape[-1])
        if args[0].shape[-1] == args[0].shape[-2]
        else args[1].shape[-1]
    )
    return float(out.numel() * n)


def _qr(args: Any, _: Torch) -> float:  # noqa: ANN401 - an operator's values
    """Householder's factorisation, and as much again for forming Q."""
    *rows, m, n = args[0].shape
    m, n = max(m, n), min(m, n)
    return float(prod(rows) * 2 * (2 * m * n * n - 2 * n**3 / 3))


def _svd(args: Any, _: Torch) -> float:  # noqa: ANN401 - an operator's values
    *rows, m, n = args[0].shape
    m, n = max(m, n), min(m, n)
    return float(prod(rows) * (14 * m * n * n + 8 * n**3))


def _dims(args: Any, rank: int) -> list[int]:  # noqa: ANN401 - an operator's values
    given = args[1] if len(args) > 1 else range(rank)
    return [given] if isinstance(given, int) else list(given)


def _fourier(name: str) -> Callable[[Any, Torch], float]:
    """Return 5 N log2 n of a complex transform; half of it where one side is real."""

    def formula(args: Any, out: Torch) -> float:  # noqa: ANN401 - an operator's values
        x = args[0] if name != "_fft_c2r" else out
        n = prod(x.shape[d] for d in _dims(args, x.dim()))
        return float((5 if name == "_fft_c2c" else 2.5) * x.numel() * log2(max(2, n)))

    return formula


def _sort(args: Any, _: Torch) -> float:  # noqa: ANN401 - an operator's values
    x = args[0]
    given = [a for a in args[1:] if isinstance(a, int) and not isinstance(a, bool)]
    n = x.shape[given[0] if given else -1] if x.dim() else 1
    return float(x.numel() * ceil(log2(max(2, n))))


def _search(args: Any, out: Torch) -> float:  # noqa: ANN401 - an operator's values
    return float(out.numel() * ceil(log2(max(2, args[0].shape[-1] if args[0].dim() else 1))))


def _each_input(args: Any, _: Torch) -> float:  # noqa: ANN401 - an operator's values
    return float(sum(t.numel() for t in tensors_in(args)))


def _distances(args: Any, out: Torch) -> float:  # noqa: ANN401 - an operator's values
    """Count a difference, a power and an addition for each feature of each pair."""
    return float(3 * out.numel() * args[0].shape[-1])


_FORMULAS: dict[str, Callable[[Any, Torch], float]] = {
    "linalg_inv_ex": _square(lambda n: 2 * n**3),
    "linalg_lu_factor_ex": _square(lambda n: 2 * n**3 / 3),
    "linalg_lu": _square(lambda n: 2 * n**3 / 3),
    "_linalg_det": _square(lambda n: 2 * n**3 / 3),
    "_linalg_slogdet": _square(lambda n: 2 * n**3 / 3),
    "linalg_cholesky_ex": _square(lambda n: n**3 / 3),
    "cholesky": _square(lambda n: n**3 / 3),
    "_linalg_eigh": _square(lambda n: 9 * n**3),
    "linalg_eig": _square(lambda n: 25 * n**3),
    "_linalg_eigvals": _square(lambda n: 10 * n**3),
    "_linalg_solve_ex": _solve,
    "linalg_solve_triangular": _triangular,
    "linalg_qr": _qr,
    "_linalg_svd": _svd,
    "_fft_r2c": _fourier("_fft_r2c"),
    "_fft_c2r": _fourier("_fft_c2r"),
    "_fft_c2c": _fourier("_fft_c2c"),
    "sort": _sort,
    "argsort": _sort,
    "searchsorted": _search,
    "topk": _each_input,
    "kthvalue": _each_input,
    "median": _each_input,
    "mode": _sort,
    "cumsum": _each_input,
    "cumprod": _each_input,
    "_cdist_forward": _distances,
}  # fmt: skip


def closed_form(name: str, args: Any, out: Torch) -> float | None:  # noqa: ANN401 - an operator's values
    """Return the FLOPs of an operator by its name in ATen, or None where no formula is known."""
    formula = _FORMULAS.get(name)
    return None if formula is None else formula(args, out)
