"""``estimator calibrate``: measure this machine once (--here), or fit measurement tables (--from)."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.measuring import CpuTime, Device, Threads, budget_of

Here = Annotated[bool, typer.Option("--here", help="measure this machine, about half a minute")]
For = Annotated[str, typer.Option("--for", envvar="ESTIMATOR_FOR", help="how long to measure, e.g. 30s")]
From = Annotated[
    list[Path] | None,
    typer.Option("--from", help="a measurement table, or a folder of them; repeatable; takes some minutes"),
]
Out = Annotated[
    Path | None, typer.Option("--out", help="folder that the calibration of --from is written to")
]

_MEASURING = 0.65  # of the time; the rest goes to the fits with each network left out
_LEAST_S = 5.0  # less says nothing of the operators that take longest


@guarded
def calibrate(
    here: Here = False,
    from_: From = None,
    out: Out = None,
    device: Device = "cpu",
    for_: For = "30s",
    threads: Threads = None,
    cpu_time: CpuTime = False,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Measure small networks on this machine and keep what they say for later predictions.

    estimator calibrate --here

    estimator calibrate --from profiles/measured --out build/calibration
    """
    from estimator.app.here import calibration_text, here_file
    from estimator.app.here_calibration import at_measured_clock, calibrated_here, measure_rows
    from estimator.app.host import host_devices
    from estimator.app.systems import named_system
    from estimator.catalog.calibration import load_calibration
    from estimator.cli.host import host_facts
    from estimator.cli.measuring import progress_line
    from estimator.cli.output import emit, save
    from estimator.errors import InputError
    from estimator.report.screens.calibration import calibration_screen

    if from_ and here:
        raise InputError("--here and --from are two ways to calibrate", hint="give one of them")
    if from_:
        _from_tables(from_, out)
        return
    if not here:
        raise InputError("what is to be calibrated?", hint="estimator calibrate --here measures this machine")
    start, budget_s = time.perf_counter(), budget_of(for_, usual="30s", least_s=_LEAST_S)
    facts = host_facts(None)
    found = host_devices(facts).devices
    with progress_line("this machine") as progress:
        tell = progress_line.say if progress else None
        measured_on = named_system(device, count=1, link=None, here=found).system.device
        if device == "cpu":
            measured_on = at_measured_clock(measured_on, facts)
        shipped = load_calibration()
        rows = measure_rows(
            measured_on, device, shipped, threads=threads, cpu_time=cpu_time,
            budget_s=_MEASURING * budget_s - (time.perf_counter() - start),
            available_bytes=facts.memory.usable_bytes if device == "cpu" else None,
            progress=tell or _quiet,
        )  # fmt: skip
        path = here_file(measured_on.id)
        made, result = calibrated_here(
            rows, shipped, facts, date=datetime.now(tz=UTC).date().isoformat(), saved_as=str(path),
            took_s=time.perf_counter() - start,
        )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, calibration_text(made))
    emit(result, lambda: calibration_screen(result), format_name=format_name, output=output)


def _from_tables(tables: list[Path], out: Path | None) -> None:
    """Fit the tables, and write each file of the calibration and what each device's figures rest on."""
    from estimator.app.calibration_files import BASES, bases_csv, recalibrate_from
    from estimator.cli.output import save, write
    from estimator.errors import InputError
    from estimator.units import counted

    if out is None:
        raise InputError("where is the calibration to go?", hint="name a folder with --out")
    made = recalibrate_from(tables)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in {**made.texts, BASES: bases_csv(made.bases)}.items():
        save(out / name, text)
    write(
        sys.stdout,
        f"{counted(made.rows, 'row')} of {counted(len(made.bases), 'device')} fitted; written to {out}\n",
    )
    write(sys.stdout, f"what each device's figures rest on: {out / BASES}\n")


def _quiet(_text: str) -> None:
    """Say nothing: nobody looks on."""
