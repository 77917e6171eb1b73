"""Calibrating on this machine: a set of small networks measured, fitted by the code that fits public rows."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from estimator.app.here import HereCalibration, fingerprint
from estimator.app.measurement import Subject, device_of_process, device_summary, order_of
from estimator.app.prediction import lowered
from estimator.app.probing import probe_host, with_probe
from estimator.calibrate.fit import fit
from estimator.calibrate.observation import Observation
from estimator.catalog.networks import parse_network
from estimator.catalog.store import bundled_root, profile_files
from estimator.catalog.text_files import read_text_file
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.efficiency import Scale, Spread
from estimator.measure.session import measure_step
from estimator.networks.training import Training
from estimator.predict.interval import Tier
from estimator.predict.sweep import Sweep
from estimator.predict.table import build_table, table_of
from estimator.provenance import Basis, Provenance
from estimator.results.calibration import CalibrationResult
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from estimator.app.prediction import LoweredRun
    from estimator.detect.facts import HostFacts
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.measure.session import StepMeasurement
    from estimator.networks.graph import Network
    from estimator.predict.table import KernelTable
    from estimator.workload.kernel import Kernel

NETWORKS = "here"
DEFAULT_BUDGET_S = 30.0
_BATCHES = (0.25, 1, 4)  # times the batch that a network's file names: weights count most in small ones
_PHASES = {
    "forward": (Phase.FORWARD,),
    "backward": (Phase.DGRAD, Phase.WGRAD, Phase.RECOMPUTE),
    "optimizer": (Phase.OPTIMIZER,),
}
_COVERAGES = (0.5, 0.8, 0.9, 0.95)
_PASSES = 4
_SHORTEST_S = 20e-6  # a part below this is the clock's and the interpreter's
_SHORTEST_RUN_S = 0.05
_LEAST_SHARE = 0.02  # of the step


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured step: its kernels whole and by phase, what it took, and the device it ran on."""

    network: str
    batch: int
    run: LoweredRun
    measured: StepMeasurement
    device: Device

    @property
    def table(self) -> KernelTable:
        """Return the kernels of the whole step."""
        return build_table(self.run.workload)

    def predicted_s(self, calibration: Calibration) -> float:
        """Return what a calibration says of the step."""
        sweep = Sweep((self.device,), self.run.training.software, calibration)
        return float(sweep.step_s(self.table)[0])

    def observations(self, source: str) -> list[Observation]:
        """Return the step in parts, as the fit sees it: layers of a kind by phase, and the optimizer.

        Where layers were not watched, whole phases: a class of kernels then hides behind others.
        """
        parts: list[tuple[list[Kernel], float]] = []
        for name, phases in _PHASES.items():
            times = self.measured.phases.get(name)
            if times is None:
                continue
            if phases == (Phase.OPTIMIZER,):
                parts.append((list(self.run.workload.optimizer), times.median))
            elif self.measured.layers:
                parts += self._by_kind(name, phases)
            else:
                own = [k for layer in self.run.workload.layers for k in layer.kernels if k.phase in phases]
                parts.append((own * self.run.workload.repeats, times.median))
        return [
            Observation(
                table=table_of(kernels), device=self.device, software=self.run.training.software,
                seconds=seconds, network=self.network, source=source,
                precision=self.run.training.precision.name,
            )
            for kernels, seconds in parts
            if kernels and seconds >= _SHORTEST_S
        ]  # fmt: skip

    def _by_kind(self, name: str, phases: tuple[Phase, ...]) -> list[tuple[list[Kernel], float]]:
        """Return the kernels and seconds of each kind of layer that takes a share of the step worth a row."""
        measured = {layer.path: getattr(layer, f"{name}_s") for layer in self.measured.layers}
        kernels: dict[str, list[Kernel]] = defaultdict(list)
        seconds: dict[str, float] = defaultdict(float)
        for layer in self.run.workload.layers:
            own = [k for k in layer.kernels if k.phase in phases]
            if own and layer.path in measured:
                kernels[layer.kind] += own
                seconds[layer.kind] += measured[layer.path]
        least = _LEAST_SHARE * self.measured.step.median
        return [(kernels[kind], seconds[kind]) for kind in kernels if seconds[kind] >= least]


def at_measured_clock(device: Device, facts: HostFacts) -> Device:
    """Return a CPU at its probed clock.

    Its bandwidth is left to the fit, whose rows say what layers draw; a probe's streams say less of that,
    and nothing on a busy machine.
    """
    probed = with_probe(device, probe_host(facts))
    return replace(probed, bandwidth_bytes_per_s=device.bandwidth_bytes_per_s)


def calibration_networks() -> tuple[Network, ...]:
    """Return the shipped networks that a machine is calibrated with; none of them is of the zoo."""
    return tuple(parse_network(read_text_file(path)) for path in profile_files(bundled_root(), NETWORKS))


def measure_rows(
    device: Device,
    name: str,
    calibration: Calibration,
    *,
    budget_s: float,
    available_bytes: int | None,
    threads: int | None = None,
    cpu_time: bool = False,
    progress: Callable[[str], None],
) -> list[Row]:
    """Measure every calibration network at its batches; each gets its share of the budget that is left."""
    begun = time.perf_counter()
    cases = [
        (
            network,
            replace(
                Training(**network.recipe), batch=max(1, round(times * int(network.recipe.get("batch", 8))))
            ),
        )
        for times in _BATCHES
        for network in calibration_networks()
    ]
    rows = []
    for number, (network, training) in enumerate(cases):
        left_s = (budget_s - (time.perf_counter() - begun)) / (len(cases) - number)
        progress(f"calibrating: {network.name}, batch {training.batch} ({number + 1} of {len(cases)})")
        subject = Subject(
            network=network, training=training, name=name, device=device, calibration=calibration,
            coverage=0.8, budget_s=max(_SHORTEST_RUN_S, left_s), available_bytes=available_bytes,
            threads=threads, cpu_time=cpu_time,
        )  # fmt: skip
        run = lowered(network, training, device.kind)
        measured = measure_step(replace(order_of(subject, run), memory=False))
        rows.append(
            Row(
                network=network.name, batch=training.batch, run=run, measured=measured,
                device=device_of_process(device, measured),
            )
        )  # fmt: skip
    return rows


def fitted(rows: Sequence[Row], start: Calibration, source: str) -> Calibration:
    """Return the calibration that explains rows best.

    First the whole machine's offset, as a scale of its device; then the fit, several times, each from where
    the last ended, so that what was shipped for all machines holds this one's coefficients less.
    """
    observations = [o for row in rows for o in row.observations(source)]
    speed = float(np.exp(-np.median(log_errors(rows, start))))
    whole = Scale(compute=speed, matrix=speed, double=speed, memory=speed, launch=1 / speed)
    made = replace(start, devices={**start.devices, rows[0].device.id: whole})
    for _ in range(_PASSES):
        made = fit(observations, made).calibration
    return made


def log_errors(rows: Sequence[Row], calibration: Calibration) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return ln(measured / predicted) of each row's step."""
    return np.array([np.log(row.measured.step.median / row.predicted_s(calibration)) for row in rows])


def left_out_errors(
    rows: Sequence[Row], start: Calibration, source: str
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the error of each row by a calibration that has not seen its network."""
    errors = np.empty(len(rows))
    for name in {row.network for row in rows}:
        others = [row for row in rows if row.network != name]
        calibration = fitted(others, start, source)
        for index, row in enumerate(rows):
            if row.network == name:
                errors[index] = log_errors([row], calibration)[0]
    return errors


def spread_of(errors: Sequence[float], source: str) -> Spread:
    """Return how far predictions on this machine are off for networks that its calibration has not seen.

    Quantiles are taken a little further out, as few networks show too little of the tails.
    """
    sizes = np.abs(np.asarray(errors))
    levels = [min(1.0, coverage * (1.0 + 1.0 / len(sizes))) for coverage in _COVERAGES]
    values = np.quantile(sizes, levels)
    return Spread(
        tier=str(Tier.MEASURED_HERE),
        quantiles={c: round(float(v), 4) for c, v in zip(_COVERAGES, values, strict=True)},
        rows=len(sizes),
        provenance=Provenance(source, Basis.MEASURED_HERE),
    )


def calibrated_here(
    rows: Sequence[Row], start: Calibration, facts: HostFacts, *, date: str, took_s: float, saved_as: str
) -> tuple[HereCalibration, CalibrationResult]:
    """Return this machine's calibration and what it improves."""
    source = f"measured on this machine on {date}"
    device = rows[0].device
    unseen = left_out_errors(rows, start, source)
    made = fitted(rows, start, source)
    spread = spread_of(unseen.tolist(), source)
    made = replace(made, spreads={**made.spreads, spread.tier: spread})
    networks = tuple(dict.fromkeys(row.network for row in rows))
    software: Mapping[str, str] = rows[0].measured.software
    here = HereCalibration(
        device_id=device.id, kind=device.kind.value, calibration=made, date=date, software=software,
        fingerprint=fingerprint(facts), networks=networks, power_limit_w=device.power_limit_w,
        clock_hz=device.clock_hz if device.kind is DeviceKind.CPU else None,
        bandwidth_bytes_per_s=device.bandwidth_bytes_per_s,
    )  # fmt: skip
    warnings = tuple(dict.fromkeys(w for row in rows for w in row.measured.warnings if "varied" not in w))
    return here, CalibrationResult(
        device=device_summary(device),
        fingerprint=fingerprint(facts),
        measured=len(rows),
        networks=networks,
        median_error_before=_median(log_errors(rows, start)),
        median_error_after=_median(log_errors(rows, made)),
        median_error_left_out=_median(unseen),
        took_s=took_s,
        saved_as=saved_as,
        warnings=warnings,
    )


def _median(errors: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return the median of |predicted / measured - 1|."""
    return float(np.median(np.abs(np.expm1(-errors))))
