"""``estimator detect``: what is in this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from estimator.cli.guard import guarded
from estimator.cli.host import Nvml, host_facts
from estimator.cli.options import FormatName, Output, Root

Probe = Annotated[
    bool,
    typer.Option(
        "--probe",
        help=(
            "measure clock, matrix rate and bandwidth too, under two seconds; "
            "on a GPU also a kernel launch, through PyTorch"
        ),
    ),
]


@guarded
def detect(
    root: Root = None,
    nvml: Nvml = None,
    probe: Probe = False,
    format_name: FormatName = None,
    output: Output = None,
) -> None:
    """Show this machine's CPU and GPUs: cores, lanes, clocks, caches, memory, dense peaks by precision.

    estimator detect --probe
    """
    from estimator.app.detection import detection_result
    from estimator.app.probing import probe_machine
    from estimator.cli.output import emit, note
    from estimator.errors import InputError
    from estimator.report.screens.detection import detection_screen

    if probe and root is not None:
        raise InputError("--probe measures this machine", hint="leave out --root")
    facts = host_facts(root, nvml)
    if probe:
        note("measuring ..." if facts.gpus else "measuring for under two seconds ...")
    result = detection_result(facts, probe_machine(facts) if probe else None)
    emit(result, lambda: detection_screen(result), format_name=format_name, output=output)
