"""The launch probe on a stand-in for PyTorch."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from estimator.measure.probe_gpu import probe_launch


class FakeNumber:
    """A tensor that counts the kernels launched on it."""

    def __init__(self) -> None:
        self.launches = 0

    def add_(self, _value: int) -> None:
        self.launches += 1


def fake_torch(number: FakeNumber, *, available: bool = True, error: Exception | None = None) -> Any:  # noqa: ANN401 - stands in for a module
    """Return what the probe uses of PyTorch."""

    def synchronize() -> None:
        if error is not None:
            raise error

    cuda = SimpleNamespace(is_available=lambda: available, synchronize=synchronize)
    return SimpleNamespace(cuda=cuda, zeros=lambda _count, device: number if device == "cuda" else None)


def test_time_of_a_launch() -> None:
    number = FakeNumber()
    ticks = itertools.count()
    measured, findings = probe_launch(torch=fake_torch(number), clock=lambda: next(ticks) * 2e-3)
    assert measured is not None
    assert measured.value == pytest.approx(4e-6)
    assert number.launches == 100 + 7 * 500
    assert findings == ()


@pytest.mark.parametrize(
    ("torch", "why"),
    [
        (fake_torch(FakeNumber(), available=False), "finds no GPU"),
        (
            fake_torch(FakeNumber(), error=RuntimeError("CUDA error:\n no kernel image")),
            "CUDA error: no kernel image",
        ),
    ],
)
def test_reasons(torch: Any, why: str) -> None:  # noqa: ANN401 - stands in for a module
    measured, findings = probe_launch(torch=torch)
    assert measured is None
    assert why in findings[0].why
