"""No argument and no shape makes a layer slow, large or fail in a way that is not meant for people."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import LayerError, record
from estimator.layers.library import LAYERS
from estimator.layers.tape import Signature
from estimator.networks.language.binding import parameters_of
from estimator.networks.language.kinds import RefusedError
from estimator.networks.training import Training

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from estimator.layers.base import Layer

SLOWEST_S = 1.0
LARGE = 2**31 - 1
VALUES: tuple[Any, ...] = (
    0, 1, 7, -1, 500, LARGE, -LARGE, 2**62 - 1, True, False, (), (0,), (1,), (-1,), (LARGE,), (LARGE,) * 2,
    (LARGE,) * 3, (3, 5, 2), (1,) * 500, 0.0, 1.0, 1e-30, 1e30, -1e30, "x", "same", None,
)  # fmt: skip
SETTING = Training(batch=1).setting()


def attempt(cls: type[Layer], arguments: Mapping[str, Any], shapes: tuple[tuple[int, ...], ...]) -> None:
    started = time.process_time()
    try:
        layer = cls(**arguments)
        record.__wrapped__(layer, tuple(Signature(s, cls.example.dtype, True) for s in shapes), SETTING)  # noqa: FBT003 - a field
    except (LayerError, ValueError):  # lowering says a ValueError as InputError
        pass
    assert time.process_time() - started < SLOWEST_S


def odd_shapes(shapes: tuple[tuple[int, ...], ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    for which, shape in enumerate(shapes):
        others = [(), shape[:-1], (*shape, 2, 2)]
        for size in (1, 2, 3, 10**4, 2**30):
            others += [(*shape[:place], size, *shape[place + 1 :]) for place in range(len(shape))]
        for other in others:
            yield (*shapes[:which], other, *shapes[which + 1 :])


@pytest.mark.parametrize("name", list(LAYERS))
def test_no_argument_makes_a_layer_slow_or_crash(name: str) -> None:
    cls = LAYERS.get(name)
    for key, parameter in parameters_of(cls).items():
        for value in VALUES:
            try:
                accepted = parameter.kind.accept(value)
            except RefusedError:
                continue
            attempt(cls, {**cls.example.arguments, key: accepted}, cls.example.shapes)


@pytest.mark.parametrize("name", list(LAYERS))
def test_no_shape_makes_a_layer_slow_or_crash(name: str) -> None:
    cls = LAYERS.get(name)
    for shapes in odd_shapes(cls.example.shapes):
        attempt(cls, cls.example.arguments, shapes)
    attempt(cls, cls.example.arguments, ())
    attempt(cls, cls.example.arguments, cls.example.shapes * 2)
