"""``estimator devices``: which hardware the catalogue knows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded

app = typer.Typer(
    no_args_is_help=True, help="List and show the devices of the catalogue, with their sources."
)


@app.command("list")
@guarded
def list_(
    vendor: Annotated[str | None, typer.Option("--vendor", help="nvidia, amd, intel, apple, …")] = None,
    year: Annotated[int | None, typer.Option("--year", help="released in this year")] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="at least so much, e.g. 24GiB or 24GB; a bare number is GiB"),
    ] = None,
    sort: Annotated[
        str, typer.Option("--sort", help="name, year, memory, bandwidth, fp32, fp16, power, price")
    ] = "name",
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """List devices.

    estimator devices list --vendor nvidia --memory 24GiB --sort bandwidth
    """
    from estimator.app.devices import list_devices
    from estimator.cli.output import emit
    from estimator.report.screens.devices import list_screen

    result = list_devices(vendor=vendor, year=year, memory=memory, sort=sort)
    emit(result, lambda: list_screen(result), format_name=format_name, output=output)


@app.command("show")
@guarded
def show(
    name: Annotated[str, typer.Argument(help="id, alias, PCI id or cloud instance")],
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Show one device in full: every field with its source, peaks by precision, ridge points.

    estimator devices show "GTX 1080 Ti"
    """
    from estimator.app.devices import show_device
    from estimator.cli.output import emit
    from estimator.report.screens.devices import show_screen

    result = show_device(name)
    emit(result, lambda: show_screen(result), format_name=format_name, output=output)


@app.command("check")
@guarded
def check(
    path: Annotated[Path, typer.Argument(help="a device, architecture or interconnect profile")],
) -> None:
    """Check a profile of your own: every error with its place.

    estimator devices check my-gpu.yaml
    """
    import sys

    from estimator.catalog.check import check_profile
    from estimator.cli.output import write
    from estimator.errors import combined
    from estimator.report.commands import file_word

    errors = check_profile(path)
    if errors:
        raise combined(errors)
    write(sys.stdout, f"{path}: no errors\nnext: estimator devices add {file_word(str(path))}\n")


@app.command("add")
@guarded
def add(
    path: Annotated[Path, typer.Argument(help="a device, architecture or interconnect profile")],
    replace: Annotated[bool, typer.Option("--replace", help="put it in place of one of that name")] = False,
) -> None:
    """Add a profile of your own to your profiles folder, once it is right.

    estimator devices add my-gpu.yaml
    """
    import sys

    from estimator.catalog.browse import add_profile, built_in_of
    from estimator.cli.output import write

    target = add_profile(path, replace=replace)
    stood_for = built_in_of(target)
    if stood_for is not None:
        write(sys.stderr, f"warning: it stands in for the built-in {stood_for} until you remove {target}\n")
    write(sys.stdout, f"added {target}\nnext: estimator devices show {target.stem}\n")
