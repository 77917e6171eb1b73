"""The framework a step runs on, as factors on the time of its kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.hardware.efficiency import SoftwareFactors
from estimator.predict.table import PHASES
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.predict.table import KernelTable
    from estimator.software import Software

    Floats = NDArray[np.float64]

_NEUTRAL = SoftwareFactors(framework="pytorch", until=9999)
_CALLS = {
    "forward": frozenset({Phase.FORWARD}),
    "backward": frozenset({Phase.DGRAD, Phase.WGRAD}),
    "optimizer": frozenset({Phase.OPTIMIZER}),
}
_TUNED_YEARS = 3
_INPUT_COPIES = 2  # the samples and their labels
_LIBRARY_KINDS = frozenset({"conv", "grouped", "depthwise"})


def software_factors(calibration: Calibration, software: Software) -> SoftwareFactors:
    """Return the factors of a framework's release; a front end has the kernels of what it drives."""
    own = release_of(calibration, software)
    if own.kernels_of is None:
        return own
    driven = kernel_release(calibration, software)
    return replace(
        driven, framework=own.framework, call_s=own.call_s, input_bytes_per_s=own.input_bytes_per_s
    )


def kernel_release(calibration: Calibration, software: Software) -> SoftwareFactors:
    """Return the entry whose factors the kernels have."""
    own = release_of(calibration, software)
    if own.kernels_of is None:
        return own
    return release_of(calibration, replace(software, framework=own.kernels_of))


def release_of(calibration: Calibration, software: Software) -> SoftwareFactors:
    """Return the entry of the first release that is not older than the one asked for.

    Entries of the framework and mode come first, then of the framework in any mode; a framework without
    measurements gets those of ``any``.
    """
    for framework in (software.framework, "any"):
        for mode in (software.mode, None):
            found = [
                entry for entry in calibration.software
                if entry.framework == framework and entry.mode == mode and software.era <= entry.until
            ]  # fmt: skip
            if found:
                return min(found, key=lambda entry: entry.until)
    return _NEUTRAL


def library_factors(
    calibration: Calibration, software: Software, device: Device, stem: str
) -> SoftwareFactors:
    """Return the factors on one class of kernels on a device.

    Libraries write the convolutions of an architecture in its first years and tune newer ones after that:
    a later release runs them no faster (cuDNN's Pascal kernels of 2019 are those of today).
    """
    year = device.architecture.year
    if stem not in _LIBRARY_KINDS or year is None or software.era <= year + _TUNED_YEARS:
        return kernel_release(calibration, software)
    return kernel_release(calibration, replace(software, era=year + _TUNED_YEARS))


def time_factor_key(factors: SoftwareFactors, kind: str, layout: str) -> str | None:
    """Return the entry of ``factors.kinds`` that holds for a class of kernels; None where none does.

    By the class in a layout, the class, and what it is a class of: ``grouped.wide/channels_last`` first.
    """
    for name in (f"{kind}/{layout}", kind, kind.partition(".")[0]):
        if name in factors.kinds:
            return name
    return None


def host_seconds(table: KernelTable, factors: SoftwareFactors) -> float:
    """Return what a GPU's host needs for a step: to issue kernels, make calls and copy the input."""
    issued_s = table.total(table.launches) * factors.host_s
    return issued_s + waiting_seconds(table, factors)


def host_shares(table: KernelTable, factors: SoftwareFactors) -> Floats:
    """Return which share of the host's time one run of each kernel is: its launches, and of its phase's call.

    The copy of the input belongs to the forward pass.
    """
    seconds = table.launches * factors.host_s
    waits = {call: call_seconds(table, factors, call) for call in _CALLS}
    waits["forward"] += waiting_seconds(table, factors) - sum(waits.values())
    for call, wait_s in waits.items():
        own = np.isin(table.phase, [PHASES.index(phase) for phase in _CALLS[call]])
        launches = np.where(own, table.launches, 0.0)
        seconds = seconds + wait_s * launches / max(table.total(launches), 1.0)
    total = table.total(seconds)
    return seconds / total if total else seconds


def waiting_seconds(table: KernelTable, factors: SoftwareFactors) -> float:
    """Return the part of the host's time that does not grow with the kernels."""
    calls_s = sum(call_seconds(table, factors, call) for call in _CALLS)
    copies_s = _INPUT_COPIES * factors.host_s if table.input_bytes else 0.0
    return calls_s + copies_s + table.input_bytes / factors.input_bytes_per_s


def call_seconds(table: KernelTable, factors: SoftwareFactors, call: str) -> float:
    """Return what one call of a step costs beside its kernels; none where the step does not make it."""
    seconds = factors.call_s.get(call, 0.0)
    phases = [PHASES.index(phase) for phase in _CALLS[call]]
    # A table of several batches holds their kernels below one another; the first's runs are those of all.
    phase = table.phase[: len(table.runs)]
    made = bool((np.isin(phase, phases) & (table.runs > 0)).any()) if seconds else False
    return seconds if made else 0.0
