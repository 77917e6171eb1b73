"""What the commands that measure share: flags, the subject on this machine, a line of progress."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.app.measurement import Subject
    from estimator.app.request import Request
    from estimator.results.measurement import MeasurementResult

Device = Annotated[
    str,
    typer.Option("--device", "-d", envvar="ESTIMATOR_DEVICE", help="where to run: cpu, cuda:0 or mps"),
]
For = Annotated[
    str, typer.Option("--for", envvar="ESTIMATOR_FOR", help="how long to measure, e.g. 20s or 2min")
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, max=4096, envvar="ESTIMATOR_THREADS", help="threads that PyTorch may use"
    ),
]
CpuTime = Annotated[
    bool,
    typer.Option("--cpu-time", help="count one thread's processor time, not the clock's: for busy machines"),
]


def budget_of(text: str, *, usual: str, least_s: float = 0.0) -> float:
    """Return the seconds that ``--for`` gives to measure. Raises InputError for none, too few, or a day."""
    from estimator.errors import InputError
    from estimator.units import DAY_S, parse_seconds

    budget_s = parse_seconds(text)
    if not 0 < budget_s < DAY_S:
        raise InputError(f"--for: {text!r} is not a time to measure for", hint=f"{usual} is usual")
    if budget_s < least_s:
        raise InputError(
            f"--for: {text} is too short to tell anything", hint=f"{least_s:.0f}s at least, {usual} is usual"
        )
    return budget_s


def subject_of(
    request: Request, device: str, budget_s: float, *, threads: int | None = None, cpu_time: bool = False
) -> Subject:
    """Return what is to be measured, on a device of this machine, with what its prediction rests on."""
    from estimator.app.here import grounds_of
    from estimator.app.host import host_devices
    from estimator.app.measurement import Subject
    from estimator.app.request import training_of
    from estimator.app.source import open_network
    from estimator.app.systems import local_system, named_system
    from estimator.cli.host import host_facts
    from estimator.measure.group import current_group

    described = open_network(request.network, request.overrides, sys.stdin.buffer)
    training = training_of(request, described.training)
    facts = host_facts(None)
    here = host_devices(facts).devices
    found = named_system("cpu" if device == "mps" else device, count=1, link=None, here=here).system.device
    group = current_group(device)
    joined = local_system(found, count=group.size, link=request.link)
    grounds = grounds_of(found, facts)
    return Subject(
        network=described.network, training=training, name=device, device=grounds.device,
        calibration=grounds.calibration, coverage=request.coverage, budget_s=budget_s,
        link=joined.system.within, measured_here=grounds.measured_here, threads=threads, cpu_time=cpu_time,
        available_bytes=facts.memory.usable_bytes if device == "cpu" else None,
    )  # fmt: skip


def measured_result(request: Request, device: str, budget_s: float) -> MeasurementResult:
    """Return a measurement without showing anything: what another host runs."""
    return measured_in(request, subject_of(request, device, budget_s), None)


def measured_in(
    request: Request, subject: Subject, progress: Callable[[float, float], None] | None
) -> MeasurementResult:
    """Return a measurement; ``progress`` is told how far it is."""
    from socket import gethostname

    from estimator.app.measurement import measure as measured

    inputs = {
        **request.inputs(), "network": subject.network.name, "network_file": request.network,
        "device": subject.name, "batch": subject.training.batch, "host": gethostname(),
        "precision": subject.training.precision.name, "optimizer": subject.training.optimizer.name,
        "for_s": subject.budget_s, "parameters": dict(subject.network.parameters),
    }  # fmt: skip
    return measured(subject, inputs, progress)


_LINE_EVERY_S = 0.2


class progress_line:  # noqa: N801 - used as a function
    """A line on stderr that says how far a measurement is, where a person looks on."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = sys.stderr.isatty()
        self._last = 0.0

    def __enter__(self) -> Callable[[float, float], None] | None:
        """Say that it begins."""
        if not self.shown:
            return None
        self._write(f"measuring {self.what}: building, warming up")
        return self._tell

    def __exit__(self, *_: object) -> None:
        """Wipe the line."""
        if self.shown:
            self._write("")

    def _tell(self, share: float, step_s: float) -> None:
        from estimator.units import format_seconds

        now = time.monotonic()
        if now - self._last < _LINE_EVERY_S:  # writing must not disturb steps of microseconds
            return
        self._last = now
        self._write(f"measuring {self.what}: {100 * share:.0f} %, a step {format_seconds(step_s)}")

    @classmethod
    def say(cls, text: str) -> None:
        """Show a text in the line."""
        cls._write(text)

    @staticmethod
    def _write(text: str) -> None:
        from estimator.cli.output import write

        write(sys.stderr, f"\r\x1b[K{text}")
