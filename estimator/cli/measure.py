"""``estimator measure``: a real step on this machine beside its prediction."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.measuring import (
    CpuTime,
    Device,
    For,
    Threads,
    budget_of,
    measured_in,
    progress_line,
    subject_of,
)

if TYPE_CHECKING:
    from estimator.app.measurement import Subject
    from estimator.app.request import Request

Network = Annotated[
    str | None,
    typer.Argument(metavar="NET", help="a network of the zoo, a YAML file, or - for stdin"),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="measure reading the images of this folder instead of a training step"),
]
Synthetic = Annotated[
    bool, typer.Option("--synthetic-images", help="the same with images made for the purpose")
]
Collectives = Annotated[
    bool, typer.Option("--collectives", help="measure all-reduces between the processes torchrun started")
]
Name = Annotated[
    str | None, typer.Option("--name", help="what to call the measured link (for predict --link)")
]


@guarded
def measure(
    network: Network = None,
    device: Device = "cpu",
    batch: o.Batch = None,
    precision: o.Precision = None,
    for_: For = "20s",
    optimizer: o.Optimizer = None,
    accumulation: o.Accumulation = None,
    mode: o.Mode = None,
    layout: o.Layout = None,
    attention: o.Attention = None,
    inference: o.Inference = False,
    threads: Threads = None,
    cpu_time: CpuTime = False,
    link: o.Link = None,
    coverage: o.Coverage = 0.8,
    set_: o.Set = None,
    data: Data = None,
    synthetic_images: Synthetic = False,
    collectives: Collectives = False,
    name: Name = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Run a real training step here and show it beside its prediction, by phase and by layer.

    estimator measure resnet18 --batch 16 --for 20s
    """
    from estimator.app.request import Request
    from estimator.catalog.interconnects import load_interconnect
    from estimator.errors import InputError

    budget_s = budget_of(for_, usual="20s")
    if sum((collectives, data is not None, synthetic_images)) > 1:
        raise InputError(
            "--collectives, --data and --synthetic-images measure different things", hint="give one of them"
        )
    if link is not None:
        load_interconnect(link)
    request = Request(
        network=network or "", overrides=tuple(set_ or ()), batch=batch, precision=precision,
        optimizer=optimizer, accumulation=accumulation, mode=mode, layout=layout, attention=attention,
        inference=inference, coverage=coverage, link=link,
    )  # fmt: skip
    if collectives:
        from estimator.cli.measure_around import show_collectives

        show_collectives(device, name, format_name, output)
        return
    if data is not None or synthetic_images:
        from estimator.cli.measure_around import show_loader

        show_loader(request, data, device, budget_s, format_name, output)
        return
    if network is None:
        raise InputError("which network?", hint="see estimator networks list")
    subject = subject_of(request, device, budget_s, threads=threads, cpu_time=cpu_time)
    _show(request, subject, format_name, output)


def _show(request: Request, subject: Subject, format_name: str | None, output: Path | None) -> None:
    from estimator.cli.output import emit
    from estimator.report.screens.measurement import measurement_screen

    with progress_line(subject.network.name) as progress:
        result = measured_in(request, subject, progress)
    if not _reports():
        return
    emit(result, lambda: measurement_screen(result), format_name=format_name, output=output)
    if result.measured.interrupted:
        raise KeyboardInterrupt


def _reports() -> bool:
    """Tell whether this process is the one of its group that speaks."""
    from estimator.measure.group import current_group

    return current_group("cpu").first
