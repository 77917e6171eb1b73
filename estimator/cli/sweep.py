"""``estimator sweep``: what helps, over ranges of batch, precision, optimizer, size and devices."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.recipe import RecipeFlags, takes_recipe
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.app.axes import Axis
    from estimator.app.systems import NamedSystem

Batch = Annotated[
    str | None,
    typer.Option(
        "--batch",
        "-b",
        envvar="ESTIMATOR_BATCH",
        metavar="LIST",
        help="batches: 32,64 or 32..1024*2 or 8..64+8",
    ),
]
Precision = Annotated[
    str | None,
    typer.Option("--precision", "-p", envvar="ESTIMATOR_PRECISION", metavar="LIST", help="e.g. fp32,amp"),
]
Optimizer = Annotated[
    str | None,
    typer.Option("--optimizer", envvar="ESTIMATOR_OPTIMIZER", metavar="LIST", help="e.g. sgd,adamw"),
]
Accumulation = Annotated[
    str | None,
    typer.Option("--accumulation", envvar="ESTIMATOR_ACCUMULATION", metavar="LIST", help="e.g. 1,2,4"),
]
Checkpointing = Annotated[
    str | None,
    typer.Option("--checkpointing", envvar="ESTIMATOR_CHECKPOINTING", metavar="LIST", help="none,blocks"),
]
Mode = Annotated[
    str | None, typer.Option("--mode", envvar="ESTIMATOR_MODE", metavar="LIST", help="eager,fused,compiled")
]
Layout = Annotated[
    str | None,
    typer.Option("--layout", envvar="ESTIMATOR_LAYOUT", metavar="LIST", help="channels_first,channels_last"),
]
Counts = Annotated[
    str | None,
    typer.Option("--devices", "-n", envvar="ESTIMATOR_DEVICES", metavar="LIST", help="e.g. 1,2,4,8"),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=LIST", help="a parameter of the network, e.g. --set seq=128..2048*2"),
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device", "-d", envvar="ESTIMATOR_DEVICE",
        help="a device, or several with the flag repeated; default: the first of this machine",
    ),
]  # fmt: skip
Zip = Annotated[
    bool,
    typer.Option(
        "--zip", envvar="ESTIMATOR_ZIP", help="take the lists side by side instead of all combinations"
    ),
]
Rows = Annotated[
    int, typer.Option("--rows", envvar="ESTIMATOR_ROWS", min=0, help="most rows of the table; 0 for all")
]


@takes_recipe
@guarded
def sweep(
    recipe: RecipeFlags,
    device: Devices = None,
    batch: Batch = None,
    precision: Precision = None,
    optimizer: Optimizer = None,
    accumulation: Accumulation = None,
    checkpointing: Checkpointing = None,
    mode: Mode = None,
    layout: Layout = None,
    devices: Counts = None,
    set_: Set = None,
    zipped: Zip = False,
    rows: Rows = 40,
    root: o.Root = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Sweep settings and show what helps: throughput, memory, the knee and the memory wall.

    estimator sweep resnet50 --device "RTX 3060" --batch 16..256*2 --precision fp32,amp
    """
    from estimator.app.axes import parse_axis
    from estimator.app.source import open_source
    from estimator.app.sweep import sweep as swept
    from estimator.catalog.calibration import load_calibration
    from estimator.cli.machines import ground_here, machines
    from estimator.cli.output import emit
    from estimator.report.screens.sweep import sweep_screen

    words = {
        "precision": precision, "optimizer": optimizer, "checkpointing": checkpointing, "mode": mode,
        "layout": layout,
    }  # fmt: skip
    numbers = {"accumulation": accumulation, "devices": devices, "batch": batch}  # a series stays together
    axes = [parse_axis(name, text) for name, text in words.items() if text is not None]
    axes += _parameters(set_ or [])
    axes += [parse_axis(name, text, numbers=True) for name, text in numbers.items() if text is not None]
    request = recipe.request()
    systems = machines(request, device or [], root, first=True)
    if len(systems) > 1:
        axes.insert(0, _axis("device", systems))
    if not axes:
        raise InputError("nothing is swept", hint="give a list or range, such as --batch 16..256*2")
    result = swept(
        open_source(request.network, sys.stdin.buffer), request, axes, systems, load_calibration(),
        zipped=zipped, ground=ground_here(root),
    )  # fmt: skip
    most = None if format_name == "csv" or (output and output.suffix == ".csv") else rows
    emit(result, lambda: sweep_screen(result, most=most), format_name=format_name, output=output)


def _parameters(texts: list[str]) -> list[Axis]:
    from estimator.app.axes import parse_axis

    axes = []
    for text in texts:
        name, separator, values = text.partition("=")
        if not separator or not name.strip():
            raise InputError(f"--set: cannot read {text!r}", hint="write name=list, such as seq=128..2048*2")
        axes.append(parse_axis(f"set {name.strip()}", values))
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        raise InputError("--set: a parameter is given twice", hint="put its values in one list")
    return axes


def _axis(name: str, systems: Mapping[str, NamedSystem]) -> Axis:
    from estimator.app.axes import Axis

    return Axis(name=name, values=tuple(systems))
