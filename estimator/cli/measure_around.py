"""What ``estimator measure --data`` and ``--collectives`` do."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from estimator.cli.measuring import progress_line, subject_of
from estimator.cli.output import emit

if TYPE_CHECKING:
    from pathlib import Path

    from estimator.app.request import Request

_USUAL_SIZE = (224, 224)


def show_loader(
    request: Request,
    data: Path | None,
    device: str,
    budget_s: float,
    format_name: str | None,
    output: Path | None,
) -> None:
    """Measure the input pipeline, against a network where one is named."""
    from estimator.app.measurement_around import loader_probe
    from estimator.cli.host import host_facts
    from estimator.report.screens.probing import loader_screen

    size, consumed, inputs = _USUAL_SIZE, None, {"data": None if data is None else str(data)}
    if request.network:
        subject = subject_of(request, device, budget_s)
        size, consumed = _consumed(subject)
        inputs |= {"network": subject.network.name, "device": device, "batch": str(subject.training.batch)}
    cpus = host_facts(None).cpu.usable_cpus or 1.0
    with progress_line("the loader") as progress:
        result = loader_probe(
            data, size, budget_s, cpus, consumed=consumed, inputs=inputs,
            progress=progress_line.say if progress else None,
        )  # fmt: skip
    emit(result, lambda: loader_screen(result), format_name=format_name, output=output)


def _consumed(subject: object) -> tuple[tuple[int, int], tuple[float, str]]:
    """Return the image size a network takes, and how many a second it is predicted to consume."""
    from estimator.app.measurement import Subject, predicted_rate

    assert isinstance(subject, Subject)  # noqa: S101 - the caller made it
    image = 3
    shapes = [i.shape for i in subject.network.inputs if len(i.shape) == image]
    size = (shapes[0][1], shapes[0][2]) if shapes else _USUAL_SIZE
    return size, (predicted_rate(subject), "predicted")


def show_collectives(device: str, name: str | None, format_name: str | None, output: Path | None) -> None:
    """Measure all-reduces in the group this process is in; the first process speaks."""
    from estimator.app.measurement_around import collectives_probe
    from estimator.report.screens.probing import collectives_screen

    def say(text: str) -> None:
        if sys.stderr.isatty():
            progress_line.say(text)

    date = datetime.now(tz=UTC).date().isoformat()
    result = collectives_probe(device, name, date=date, progress=say)
    if result is not None:
        emit(result, lambda: collectives_screen(result), format_name=format_name, output=output)
