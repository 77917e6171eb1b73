"""The use case of ``estimator sweep``: many settings of one network, worked out as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.app.axes import points as points_of
from estimator.app.here import Grounds
from estimator.app.marks import marked
from estimator.app.sweep_job import BATCH, COUNT, DEVICE, WITHIN, SweepJob, Wanted, work_out
from estimator.errors import InputError
from estimator.results.sweep import SweepResult

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from estimator.app.axes import Axis
    from estimator.app.request import Request
    from estimator.app.systems import NamedSystem
    from estimator.catalog.text_files import SourceText
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration


def sweep(
    source: SourceText,
    request: Request,
    axes: Sequence[Axis],
    systems: Mapping[str, NamedSystem],
    calibration: Calibration,
    *,
    zipped: bool = False,
    ground: Callable[[Device], Grounds] | None = None,
) -> SweepResult:
    """Return every point of the axes; ``systems`` are those that the axis ``device`` names, by name.

    ``ground`` tells what predictions for a device rest on, where that is not the same calibration for all.
    Points whose device lacks a format are left out with a warning. Raises InputError where none is left.
    """
    grounds = {
        name: ground(named.system.device)
        if ground
        else Grounds(device=named.system.device, calibration=calibration)
        for name, named in systems.items()
    }
    job = SweepJob(source=source, request=request, systems=systems, grounds=grounds)
    groups: dict[tuple[tuple[str, str | int], ...], list[Wanted]] = {}
    for index, settings in enumerate(points_of(axes, zipped=zipped)):
        recipe = tuple(item for item in settings.items() if item[0] not in WITHIN)
        groups.setdefault(recipe, []).append(_wanted(job, index, settings))
    for recipe, wanted in groups.items():
        work_out(job, dict(recipe), wanted)
    if not job.points:
        raise InputError(next(iter(job.refused), "there is no point to predict"))
    return _result(job, axes)


def _wanted(job: SweepJob, index: int, settings: Mapping[str, str | int]) -> Wanted:
    batch = int(settings.get(BATCH, 0))
    device = str(settings.get(DEVICE, next(iter(job.systems))))
    return Wanted(
        index=index, settings=settings, batch=batch, device=device, count=int(settings.get(COUNT, 1))
    )


def _result(job: SweepJob, axes: Sequence[Axis]) -> SweepResult:
    rows = marked([job.points[index] for index in sorted(job.points)])
    good = [i for i, row in enumerate(rows) if row.fits is not False]
    network = next(iter(job.networks.values())).network
    return SweepResult(
        inputs={
            **job.request.inputs(),
            "network": network.name,
            "network_file": job.request.network,
            "device": list(job.systems),
        },
        axes={axis.name: list(axis.values) for axis in axes},
        points=rows,
        best=max(good, key=lambda i: rows[i].rate, default=None),
        coverage=job.request.coverage,
        basis=tuple(job.basis),
        assumptions=tuple(job.assumed),
        warnings=tuple(job.refused),
    )
