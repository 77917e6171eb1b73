"""The points of a sweep that share a recipe: steps at many batches on many devices, as arrays."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.fit import usable_bytes
from estimator.app.fleet import Roster, able
from estimator.app.request import assumptions_of, training_of
from estimator.app.source import described
from estimator.app.spans import stretches
from estimator.app.systems import local_system
from estimator.predict.collectives import data_parallel_s, exchange_s
from estimator.predict.step import range_of
from estimator.predict.sweep import with_host
from estimator.results.sweep import SweepPoint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from estimator.app.here import Grounds
    from estimator.app.request import Request
    from estimator.app.source import Described
    from estimator.app.spans import Stretch
    from estimator.app.systems import NamedSystem
    from estimator.catalog.text_files import SourceText
    from estimator.hardware.system import System
    from estimator.provenance import Assumption

    Floats = NDArray[np.float64]
    Settings = Mapping[str, str | int]

BATCH, COUNT, DEVICE, SET = "batch", "devices", "device", "set "
WITHIN = frozenset({BATCH, COUNT, DEVICE})  # what varies without another lowering
_FLAGS = ("precision", "optimizer", "accumulation", "checkpointing", "mode", "layout")


@dataclass(slots=True)
class SweepJob:
    """A sweep under way: what is fixed, and what has been worked out so far."""

    source: SourceText
    request: Request
    systems: Mapping[str, NamedSystem]
    grounds: Mapping[str, Grounds]
    points: dict[int, SweepPoint] = field(default_factory=dict)
    networks: dict[tuple[str, ...], Described] = field(default_factory=dict)
    rosters: dict[object, Roster] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)
    assumed: dict[Assumption, None] = field(default_factory=dict)
    basis: dict[str, None] = field(default_factory=dict)

    def describe(self, overrides: tuple[str, ...]) -> Described:
        """Return the network with some parameters replaced, read once for each set of them."""
        if overrides not in self.networks:
            self.networks[overrides] = described(self.source, overrides)
        return self.networks[overrides]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One point: its place in the result, and the settings that vary within a recipe."""

    index: int
    settings: Settings
    batch: int
    device: str
    count: int


def work_out(job: SweepJob, recipe: Settings, wanted: Sequence[Wanted]) -> None:
    """Work out all points of one recipe."""
    said = {name: value for name, value in recipe.items() if name in _FLAGS}
    sets = tuple(
        f"{name.removeprefix(SET)}={value}" for name, value in recipe.items() if name.startswith(SET)
    )
    request = replace(job.request, **said, overrides=(*job.request.overrides, *sets))  # type: ignore[arg-type]
    found = job.describe(request.overrides)
    training = training_of(request, found.training)
    job.assumed |= dict.fromkeys(
        a for a in assumptions_of(request, training) if a.what != BATCH or not wanted[0].batch
    )
    by_kind: dict[object, list[Wanted]] = defaultdict(list)
    for one in wanted:
        by_kind[job.systems[one.device].system.device.kind].append(
            replace(one, batch=one.batch or training.batch)
        )
    for members in by_kind.values():
        kind = job.systems[members[0].device].system.device.kind
        for batches, stretch in stretches(found.network, training, kind, [one.batch for one in members]):
            inside = set(batches)
            _stretch(job, stretch, batches, [one for one in members if one.batch in inside])


def _stretch(job: SweepJob, stretch: Stretch, batches: tuple[int, ...], wanted: Sequence[Wanted]) -> None:
    names = list(dict.fromkeys(one.device for one in wanted))
    by_basis: dict[int, list[str]] = defaultdict(list)
    for name in names:
        by_basis[id(job.grounds[name].calibration)].append(name)
    for group in by_basis.values():
        _group(job, stretch, batches, group, [one for one in wanted if one.device in group])


def _group(
    job: SweepJob, stretch: Stretch, batches: tuple[int, ...], names: list[str], wanted: Sequence[Wanted]
) -> None:
    """Work out the points of devices that share a calibration."""
    devices = [job.grounds[name].device for name in names]
    fit, lacking = able(stretch.span.small, devices)
    job.refused |= dict.fromkeys(lacking.values())
    names = [name for name, device in zip(names, devices, strict=True) if device.id not in lacking]
    if not fit:
        return
    key = (stretch.training.software, tuple(names))
    if key not in job.rosters:
        job.rosters[key] = Roster(fit, stretch.training.software, job.grounds[names[0]].calibration)
    steps = job.rosters[key].steps(stretch.span, batches)
    row_of = {batch: i for i, batch in enumerate(batches)}
    by_system: dict[tuple[str, int], list[Wanted]] = defaultdict(list)
    for one in wanted:
        by_system[one.device, one.count].append(one)
    for (name, count), members in by_system.items():
        if name not in names:
            continue
        column = names.index(name)
        rows = np.array([row_of[one.batch] for one in members])
        alone_s, unusual = steps.step_s[rows, column], steps.unusual[rows, column]
        system = _system(job, name, count)
        step_s = _whole_s(job, stretch, system, alone_s, members)
        _fill(job, stretch, system, members, step_s=step_s, unusual=unusual)


def _system(job: SweepJob, name: str, count: int) -> System:
    named = job.systems[name]
    total = named.system.count * count
    grounds = job.grounds[name]
    joined = local_system(grounds.device, count=total, link=job.request.link)
    job.assumed |= dict.fromkeys((*named.assumptions, *grounds.assumptions, *joined.assumptions))
    return joined.system


def _whole_s(
    job: SweepJob, stretch: Stretch, system: System, alone_s: Floats, wanted: Sequence[Wanted]
) -> Floats:
    """Add what the exchange and the input pipeline leave visible, as ``estimate_step`` does."""
    exchange = sum(exchange_s(c.kind, c.bytes, system, buckets=c.buckets) for c in stretch.low.collectives)
    calibration = job.grounds[wanted[0].device].calibration
    _, exposed_s = data_parallel_s(
        alone_s,  # type: ignore[arg-type]  # an array adds up as a number does
        exchange, system.count, exposure=calibration.exposure, straggler=calibration.straggler,
    )  # fmt: skip
    step_s = alone_s + exposed_s
    if stretch.training.images_per_s:
        samples = np.array([one.batch for one in wanted]) * stretch.training.accumulation
        step_s = np.array([
            float(with_host(float(s), float(n) / stretch.training.images_per_s))
            for s, n in zip(step_s, samples, strict=True)
        ])  # fmt: skip
    return step_s


def _fill(
    job: SweepJob,
    stretch: Stretch,
    system: System,
    wanted: Sequence[Wanted],
    *,
    step_s: Floats,
    unusual: NDArray[np.bool_],
) -> None:
    device, training, grounds = system.device, stretch.training, job.grounds[wanted[0].device]
    factors = {
        flag: range_of(
            1.0, flag, device,
            policy=training.precision, calibration=grounds.calibration, coverage=job.request.coverage,
            measured_here=grounds.measured_here, several=system.count > 1,
        )
        for flag in set(unusual.tolist())
    }  # fmt: skip
    job.basis |= {factor.basis: None for factor in factors.values()}
    memory = stretch.memory_bytes(device, [one.batch for one in wanted])
    capacity = usable_bytes(device)
    tokens = stretch.tokens_per_sample
    rows = zip(wanted, step_s.tolist(), unusual.tolist(), memory.tolist(), strict=True)
    for one, seconds, flag, held in rows:
        samples_per_s = one.batch * training.accumulation * system.count / seconds
        factor = factors[flag]
        job.points[one.index] = SweepPoint(
            settings=one.settings,
            device=device.id,
            devices=system.count,
            batch=one.batch,
            step_s=seconds,
            low_s=seconds * factor.low,
            high_s=seconds * factor.high,
            samples_per_s=samples_per_s,
            tokens_per_s=None if tokens is None else samples_per_s * tokens,
            memory_bytes=round(held),
            fits=None if capacity is None else held <= capacity,
        )
