"""The steps that ``predict`` and ``compare`` share: open, resolve, predict, check conditions."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.errors import ConditionFailedError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from estimator.app.here import Grounds
    from estimator.app.host import HostDevices
    from estimator.app.request import Request
    from estimator.app.systems import NamedSystem
    from estimator.hardware.device import Device
    from estimator.results.prediction import Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Predictions, what to warn of, and what the inputs turned out to be."""

    predictions: tuple[Prediction, ...]
    warnings: tuple[str, ...]
    inputs: Mapping[str, object]


def predictions_for(
    request: Request,
    specs: Sequence[str],
    root: Path | None,
    *,
    every: bool = False,
) -> Answered:
    """Predict a request on every device named, or on this machine's where none is.

    A device that cannot do it (no such precision) is an error when it is the only one, a warning
    otherwise.
    """
    from estimator.app.prediction import predict_named
    from estimator.app.request import training_of
    from estimator.app.source import open_network
    from estimator.app.work import unstated_warnings
    from estimator.catalog.calibration import load_calibration
    from estimator.networks.lowering import unstated

    described = open_network(request.network, request.overrides, sys.stdin.buffer)
    training = training_of(request, described.training)
    systems = systems_for(request, specs, root, every=every)
    predictions, refused = predict_named(
        described.network, request, training, systems, load_calibration(), ground=grounding_here(root)
    )
    if not predictions:
        raise InputError(refused[0])
    inputs = {
        "network": described.network.name,
        "devices": [_label(p) for p in predictions],
        "batch": training.batch,
        "precision": training.precision.name,
        "optimizer": training.optimizer.name,
        "accumulation": training.accumulation,
        "epochs": training.epochs,
        "steps": training.steps,
        "samples": training.samples,
        "parameters": dict(described.network.parameters),
        "network_file": request.network,
    }
    warnings = (*refused, *unstated_warnings(unstated(described.network)))
    return Answered(predictions=predictions, warnings=warnings, inputs=inputs)


def grounding_here(root: Path | None) -> Callable[[Device], Grounds] | None:
    """Return what tells predictions of measurements made on this machine, None where there are none."""
    from estimator.app.here import any_here, grounding
    from estimator.catalog.calibration import load_calibration
    from estimator.cli.host import host_facts

    return grounding(host_facts(None), load_calibration()) if root is None and any_here() else None


def _label(prediction: Prediction) -> str:
    count = prediction.device.devices
    return f"{count}x {prediction.device.id}" if count > 1 else prediction.device.id


def systems_for(
    request: Request, specs: Sequence[str], root: Path | None, *, every: bool = False
) -> tuple[NamedSystem, ...]:
    """Return the systems named, all of the catalogue, or those of this machine where none is named."""
    from estimator.app.systems import is_local, local_system, named_system
    from estimator.catalog.lookup import all_devices

    needs_host = root is not None or not specs or any(map(is_local, specs))
    found = _found_here(root) if needs_host else None
    here = found.devices if found else ()
    if every:
        catalogue = [local_system(d, count=request.devices, link=request.link) for d in all_devices()]
        return (*(local_system(d, count=1, link=None) for d in here), *catalogue)
    if specs:
        return tuple(
            named_system(spec, count=request.devices, link=request.link, here=here) for spec in specs
        )
    if not here:
        remedy = found.findings[0].remedy if found and found.findings else "name one with --device"
        raise InputError("nothing in this machine can be predicted for", hint=remedy)
    return tuple(local_system(d, count=request.devices, link=request.link) for d in here)


def _found_here(root: Path | None) -> HostDevices:
    from estimator.app.host import host_devices
    from estimator.cli.host import host_facts

    return host_devices(host_facts(root))


def read_deadline(deadline: str | None) -> float | None:
    """Return a deadline in seconds; called before the work, so that a slip costs no waiting."""
    from estimator.units import parse_seconds

    return None if deadline is None else parse_seconds(deadline)


def check_conditions(predictions: Sequence[Prediction], *, must_fit: bool, deadline_s: float | None) -> None:
    """Raise ConditionFailedError when a condition does not hold on any device."""
    from estimator.units import format_seconds

    if must_fit and not any(p.memory.fits for p in predictions):
        raise ConditionFailedError("--must-fit: the step fits in the memory of no device")
    if deadline_s is None:
        return
    totals = [p.total_s for p in predictions if p.total_s is not None]
    if not totals:
        raise InputError(
            "--deadline: the length of the run is not known", hint="give --steps, or --samples and --epochs"
        )
    if min(totals) > deadline_s:
        raise ConditionFailedError(
            f"--deadline: the fastest takes {format_seconds(min(totals))}, "
            f"more than {format_seconds(deadline_s)}"
        )
