"""The use case of ``estimator plan``: what to buy or rent for a training, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from estimator.app.fleet_runs import Length, device_steps, run_time
from estimator.app.plan_prices import Priced, Purse
from estimator.app.plan_systems import offers, system_of
from estimator.app.plan_verdict import verdict
from estimator.app.request import assumptions_of, training_of
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.planning.money import HOUR_S
from estimator.planning.option import Option
from estimator.provenance import Assumption
from estimator.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.app.fleet_runs import DeviceStep, RunTime
    from estimator.app.here import Grounds
    from estimator.app.plan_ask import Ask, Job
    from estimator.app.plan_systems import Offer
    from estimator.catalog.prices import PriceBook
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.networks.training import Training
    from estimator.results.plan import PlanResult

_UNSAID_SAMPLES = 1_000_000


def plan(ask: Ask, book: PriceBook, calibration: Calibration) -> PlanResult:
    """Return all candidates and the choice. Raises InputError where none can be predicted."""
    found, warnings = offers(ask, book)
    purse = Purse(ask, book)
    steps, lengths, refused = _steps(ask, found, calibration)
    bench = _Bench(ask, purse, lengths, calibration)
    worked = (bench.priced(offer, steps[id(offer.device)]) for offer in found if id(offer.device) in steps)
    priced = [one for one in worked if one is not None]
    if not priced:
        raise InputError(next(iter(refused), "there is no candidate"), hint="see --device and --since")
    said = [a for job in ask.jobs for a in _assumptions(job, ask)]
    if refused:
        lacking = f"{counted(len(refused), 'device')}, such as: {refused[0]}"
        warnings.append(f"left out for lack of what the training needs: {lacking}")
    return verdict(ask, priced, purse, [*said, *purse.assumptions], warnings)


def _steps(
    ask: Ask, found: Sequence[Offer], calibration: Calibration
) -> tuple[dict[int, tuple[DeviceStep, ...]], list[Length], list[str]]:
    """Return each device's steps, one a network, by the identity of the device; and how long runs are."""
    devices: dict[int, Device] = {id(offer.device): offer.device for offer in found}
    own = {id(grounds.device): grounds for grounds in ask.measured}
    refused: dict[str, str] = {}
    columns, lengths = [], []
    for job in ask.jobs:
        training = training_of(job.request, job.described.training)
        column, lacking = device_steps(
            job.described.network, training, list(devices.values()), calibration,
            coverage=job.request.coverage, most_bytes=ask.constraints.max_memory_bytes,
        )  # fmt: skip
        for place, key in enumerate(devices):
            if key in own:
                column[place] = _measured(ask, job, training, own[key])
        refused |= lacking
        columns.append(column)
        lengths.append(length_of(training))
    steps = {}
    for place, row in zip(devices, zip(*columns, strict=True), strict=True):
        complete = tuple(step for step in row if step is not None)
        if len(complete) == len(ask.jobs):
            steps[place] = complete
    return steps, lengths, list(refused.values())


def _measured(ask: Ask, job: Job, training: Training, grounds: Grounds) -> DeviceStep | None:
    """Return the step of a device that was measured on this machine."""
    (step,), _ = device_steps(
        job.described.network, training, [grounds.device], grounds.calibration,
        coverage=job.request.coverage, most_bytes=ask.constraints.max_memory_bytes, measured_here=True,
    )  # fmt: skip
    return step


def length_of(training: Training) -> Length:
    """Return how much a run trains; given steps are those of one device, for the same samples on any."""
    if training.steps is not None:
        samples = training.steps * training.batch * training.accumulation
        return Length(samples=samples, epochs=1.0)
    if training.samples is None:
        return Length(samples=_UNSAID_SAMPLES, epochs=1.0)
    validation = round(training.validation_share * training.samples)
    return Length(samples=training.samples, epochs=training.epochs or 1.0, validation_samples=validation)


def has_length(training: Training) -> bool:
    """Tell whether steps or samples were given."""
    return training.steps is not None or training.samples is not None


class _Bench:
    """Works offers out; runs on equal devices are worked out once."""

    def __init__(self, ask: Ask, purse: Purse, lengths: Sequence[Length], calibration: Calibration) -> None:
        self._ask = ask
        self._purse = purse
        self._lengths = lengths
        self._calibration = calibration
        self._known: dict[tuple[int, int], _Run | None] = {}

    def priced(self, offer: Offer, steps: tuple[DeviceStep, ...]) -> Priced | None:
        """Return an offer with its time and money; None where nothing says what joins its devices."""
        trials = self._ask.trials
        together = self._run(offer.device, offer.count, steps)
        alone = self._run(offer.device, 1, steps) if trials.parallel else together
        if together is None or alone is None:
            return None
        run = alone if trials.parallel else together
        experiment_s = trials.experiment_s(together.run_s, alone.run_s, offer.count)
        average_w, most_w = self._power(offer, run.busy_share)
        money = self._purse.money(offer, average_w)
        per_experiment = None if money.per_hour is None else money.per_hour * experiment_s / HOUR_S
        option = Option(
            name=offer.name,
            way=offer.way,
            device=offer.device.id,
            kind=offer.device.kind.value,
            count=offer.count,
            run_s=run.run_s,
            experiment_s=experiment_s,
            low_s=experiment_s * run.low,
            high_s=experiment_s * run.high,
            fits=_all_fit(steps),
            memory_bytes=max(step.memory_bytes for step in steps),
            power_w=most_w,
            energy_j=None if average_w is None else average_w * experiment_s / trials.count,
            buy=money.buy,
            rent_per_hour=money.rent_per_hour,
            per_run=None if per_experiment is None else per_experiment / trials.count,
            per_experiment=per_experiment,
        )
        return Priced(offer=offer, option=option, money=money, steps=steps, low=run.low, high=run.high)

    def _power(self, offer: Offer, busy_share: float) -> tuple[float | None, float | None]:
        """Return the mean power with cooling and the highest at the wall; None where no limit is known."""
        if offer.device.power_limit_w is None:
            return None, None
        limit = offer.device.power_limit_w * offer.count
        return self._purse.overheads.average_w(limit, busy_share), self._purse.overheads.most_w(limit)

    def _run(self, device: Device, count: int, steps: tuple[DeviceStep, ...]) -> _Run | None:
        key = (id(device), count)
        if key not in self._known:
            system = system_of(device, count, self._ask.link)
            parts = [
                (job.weight, run_time(step, system, length, self._calibration))
                for job, step, length in zip(self._ask.jobs, steps, self._lengths, strict=True)
                if system is not None
            ]
            self._known[key] = _weighted(parts) if parts else None
        return self._known[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """All networks by weight: seconds, the factors of their range, the share of time kernels are busy."""

    run_s: float
    low: float
    high: float
    busy_share: float


def _weighted(parts: Sequence[tuple[float, RunTime]]) -> _Run:
    total = sum(weight * run.run_s for weight, run in parts)
    low, high, busy = (
        sum(weight * run.run_s * getattr(run, name) for weight, run in parts) / total
        for name in ("low", "high", "busy_share")
    )
    return _Run(run_s=total, low=low, high=high, busy_share=busy)


def _all_fit(steps: Sequence[DeviceStep]) -> bool | None:
    """Tell whether every network fits; a CPU's host, whose memory is not stated, counts as large enough."""
    known = [step.fits for step in steps]
    if False in known:
        return False
    return True if steps[0].device.kind is DeviceKind.CPU or None not in known else None


def _assumptions(job: Job, ask: Ask) -> list[Assumption]:
    training = training_of(job.request, job.described.training)
    network = job.described.network.name
    found = [
        Assumption(what=f"{a.what} of {network}" if len(ask.jobs) > 1 else a.what, value=a.value, why=a.why)
        for a in assumptions_of(job.request, training)
    ]
    length = length_of(training)
    if not has_length(training):
        why = "not said; give --steps, or --samples and --epochs"
        found.append(
            Assumption(what=f"length of a run of {network}", value=f"{length.samples:,} samples", why=why)
        )
    elif training.steps is not None:
        why = f"{training.steps:,} steps of one device; the same on any system"
        found.append(Assumption(what=f"samples of a run of {network}", value=f"{length.samples:,}", why=why))
    return found
