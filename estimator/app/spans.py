"""One network under one recipe at any batch: its kernels and memory, lowered at two batches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.fit import held_moments
from estimator.app.fleet import Span
from estimator.app.request import run_on
from estimator.networks.lowering import lower
from estimator.predict.table import build_pair, build_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from estimator.hardware.architecture import DeviceKind
    from estimator.hardware.device import Device
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A recipe at batches from ``low`` to ``high``, as a framework runs it on one kind of device."""

    training: Training
    span: Span
    low: Workload
    high: Workload
    tokens_per_sample: int | None

    def memory_bytes(self, device: Device, batches: Sequence[int]) -> NDArray[np.float64]:
        """Return what a step holds on a device at each batch: both moments are linear in it."""
        era = self.training.software.era
        low, high = (np.array(held_moments(work.footprint, device, era)) for work in (self.low, self.high))
        shares = self.span.shares(batches)
        moments: NDArray[np.float64] = low + shares[:, None] * (high - low)
        return np.asarray(moments.max(axis=1))


def stretches(
    network: Network, training: Training, kind: DeviceKind, batches: Sequence[int]
) -> list[tuple[tuple[int, ...], Stretch]]:
    """Return the batches with the stretch each lies in.

    Usually it is one: work grows linearly with the batch. Where the two ends launch other kernels, each
    batch is lowered by itself.
    """
    recipe = run_on(network, training, kind)
    wanted = tuple(sorted(set(batches)))
    low, high = (lower(network, replace(recipe, batch=b)) for b in (wanted[0], wanted[-1]))
    try:
        small, large = build_pair(low, high)
    except ValueError:
        return [((b,), stretch_at(network, replace(recipe, batch=b))) for b in wanted]
    span = Span(small=small, large=large, low=wanted[0], high=wanted[-1])
    return [
        (
            wanted,
            Stretch(
                training=recipe, span=span, low=low, high=high, tokens_per_sample=network.tokens_per_sample
            ),
        )
    ]


def stretch_at(network: Network, training: Training) -> Stretch:
    """Return the stretch of one batch; the recipe is as the device's framework runs it."""
    work = lower(network, training)
    table = build_table(work)
    span = Span(small=table, large=table, low=training.batch, high=training.batch)
    return Stretch(
        training=training, span=span, low=work, high=work, tokens_per_sample=network.tokens_per_sample
    )
