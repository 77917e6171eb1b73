"""The use case of ``estimator report``: all that is known of networks on devices, in one result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.app.axes import Axis
from estimator.app.comparison import compare
from estimator.app.devices import device_result
from estimator.app.history import accuracy_history
from estimator.app.prediction import lowered
from estimator.app.report_costs import Costs
from estimator.app.study import study
from estimator.app.sweep import sweep
from estimator.app.work import layers_result
from estimator.errors import InputError
from estimator.results.report import NetworkReport, ReportResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.app.request import Request
    from estimator.app.study import Study
    from estimator.app.systems import NamedSystem
    from estimator.catalog.text_files import SourceText
    from estimator.hardware.efficiency import Calibration
    from estimator.results.plan import PlanResult
    from estimator.results.roofline import RooflineResult
    from estimator.results.sweep import SweepResult

_MOST_BATCHES = 1024
_DEVICES_SWEPT = 4


def report(
    networks: Sequence[tuple[Request, SourceText]],
    systems: Sequence[NamedSystem],
    calibration: Calibration,
    *,
    made_on: str,
    command: str,
    costs: Costs | PlanResult | None = None,
) -> ReportResult:
    """Return the report on every network, each on every system that can run it.

    ``costs`` is a plan made before, or what to make one of for these systems; None leaves costs out.

    Raises InputError where no system can run a network, or one is given twice.
    """
    studies = [study(source, request, systems, calibration) for request, source in networks]
    names = [each.network.name for each in studies]
    doubled = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if doubled is not None:
        raise InputError(f"the network {doubled!r} is given twice")
    parts = [
        _network(each, source, systems, calibration)
        for each, (_, source) in zip(studies, networks, strict=True)
    ]
    devices = {s.device.id: s.device for each in studies for s in each.systems}
    warnings = dict.fromkeys(text for each in studies for text in each.warnings)
    try:
        plan = costs.plan(networks, systems, calibration) if isinstance(costs, Costs) else costs
    except InputError as error:
        plan = None
        warnings[f"no costs: {error}"] = None
    shared = networks[0][0].inputs()
    shared.pop("network", None)
    return ReportResult(
        inputs={"networks": names, **shared},
        made_on=made_on,
        command=command,
        networks=tuple(parts),
        hardware=tuple(device_result(device, calibration) for device in devices.values()),
        accuracy=accuracy_history(studies, calibration),
        plan=plan,
        warnings=tuple(warnings),
    )


def _network(
    found: Study, source: SourceText, systems: Sequence[NamedSystem], calibration: Calibration
) -> NetworkReport:
    predictions = found.predictions
    order = sorted(
        range(len(predictions)),
        key=lambda i: (predictions[i].memory.fits is False, -predictions[i].step.samples_per_s),
    )
    best = found.systems[order[0]]
    workload = lowered(found.network, found.training, best.device.kind).workload
    gaps: list[str] = []
    names = {found.systems[i].device.id for i in order[:_DEVICES_SWEPT]}
    swept = {s.system.device.id: s for s in systems if s.system.device.id in names}
    return NetworkReport(
        network=found.network.name,
        fastest=best.device.id,
        work=layers_result(workload, precision=found.training.precision.name),
        comparison=compare(found.request, found.predictions, found.warnings, found.inputs),
        roofline=_roofline(found, order[0], gaps),
        batches=_batches(found, source, swept, calibration, gaps),
        gaps=tuple(gaps),
    )


def _roofline(found: Study, index: int, gaps: list[str]) -> RooflineResult | None:
    try:
        return found.roofline(index)
    except InputError as error:
        gaps.append(str(error))
        return None


def _batches(
    found: Study,
    source: SourceText,
    systems: dict[str, NamedSystem],
    calibration: Calibration,
    gaps: list[str],
) -> SweepResult | None:
    """Return throughput by batch: powers of two and the batch asked for, on the fastest devices."""
    powers = {2**power for power in range(_MOST_BATCHES.bit_length()) if 2**power <= _MOST_BATCHES}
    sizes = Axis(name="batch", values=tuple(sorted(powers | {found.training.batch})))
    axes = [Axis(name="device", values=tuple(systems)), sizes]
    try:
        return sweep(source, replace(found.request, batch=None), axes, systems, calibration)
    except InputError as error:
        gaps.append(f"throughput by batch: {error}")
        return None
