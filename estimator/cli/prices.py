"""``estimator prices``: what is known of prices, from when and from whom."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded

if TYPE_CHECKING:
    import datetime as dt

app = typer.Typer(
    no_args_is_help=True, help="List, show, add, check and export dated prices, energy and carbon figures."
)
TableName = Annotated[
    str | None,
    typer.Option(
        "--table",
        "-t",
        envvar="ESTIMATOR_TABLE",
        help="purchase, rent, electricity, carbon, overheads or rates",
    ),
]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--prices", envvar="ESTIMATOR_PRICE_FILES", help="a price file or folder that goes before all others"
    ),
]
Layer = Annotated[
    str | None,
    typer.Option(
        "--from",
        envvar="ESTIMATOR_FROM",
        help="only of this layer: flag, environment, project, user, bundled",
    ),
]


def today() -> dt.date:
    """Return the day ages count to: ESTIMATOR_TODAY, or the clock's."""
    import datetime as dt
    import os

    from estimator.catalog.price_files import day
    from estimator.errors import InputError

    said = os.environ.get("ESTIMATOR_TODAY")
    if not said:
        return dt.datetime.now(tz=dt.UTC).date()
    try:
        return day(said)
    except ValueError as error:
        raise InputError(f"ESTIMATOR_TODAY: {error}") from None


@app.command("list")
@guarded
def list_(
    table: TableName = None,
    layer: Layer = None,
    stale: Annotated[bool, typer.Option("--stale", help="only those that are out of date")] = False,
    files: Files = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """List the prices that count now, with their age.

    estimator prices list --table rent
    """
    _emit(None, table, layer, files, format_name, output, stale=stale, history=False)


@app.command("show")
@guarded
def show(
    name: Annotated[str, typer.Argument(help="a device, provider, instance (aws:p3.2xlarge) or region")],
    table: TableName = None,
    files: Files = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Show every row of one device, provider, instance or region, with its source and history.

    estimator prices show "RTX 4090"
    """
    _emit(name, table, None, files, format_name, output, stale=False, history=True)


def _emit(
    name: str | None,
    table: str | None,
    layer: str | None,
    files: list[Path] | None,
    format_name: str | None,
    output: Path | None,
    *,
    stale: bool,
    history: bool,
) -> None:
    from estimator.app.prices import Wanted, list_prices
    from estimator.catalog.prices import LAYERS, load_prices
    from estimator.cli.output import emit
    from estimator.errors import InputError, suggestion
    from estimator.report.screens.prices import prices_screen

    if layer is not None and layer not in LAYERS:
        hint = suggestion(layer, LAYERS) or f"layers are {', '.join(LAYERS)}"
        raise InputError(f"--from: unknown layer {layer!r}", hint=hint)
    wanted = Wanted(table=table, name=name, layer=layer, stale=stale, history=history)
    result = list_prices(load_prices(files=files or ()), wanted, today())
    most = None if format_name == "csv" or (output and output.suffix == ".csv") else 60
    emit(result, lambda: prices_screen(result, most=most), format_name=format_name, output=output)


@app.command("add")
@guarded
def add(
    table: Annotated[str, typer.Argument(help="purchase, rent, electricity, carbon, overheads or rates")],
    name: Annotated[
        str,
        typer.Argument(help='a device, "provider:8x A100-SXM-80GB", a region (DEU), a factor or EUR:USD'),
    ],
    value: Annotated[str, typer.Argument(help="the price: of one board, an hour, a kWh; or the figure")],
    currency: Annotated[str, typer.Option("--currency", help="USD, EUR, …")] = "USD",
    as_of: Annotated[str | None, typer.Option("--as-of", help="2026-11-30; default: today")] = None,
    source: Annotated[str, typer.Option("--source", help="where it stands")] = "entered by hand",
    licence: Annotated[str, typer.Option("--licence", help="of the source")] = "own figure",
    note: Annotated[str, typer.Option("--note")] = "",
    project: Annotated[
        bool, typer.Option("--project", help="into .estimator/prices here, not the user's own folder")
    ] = False,
) -> None:
    """Add a price of your own, which goes before the bundled ones.

    estimator prices add purchase "RTX 4090" 1750 --currency EUR --source "shop.example"
    """
    from estimator.app.price_entry import cells_of
    from estimator.app.prices import add_row, added_to
    from estimator.cli.output import write

    said = {
        "currency": currency, "as_of": as_of or today().isoformat(), "source": source, "licence": licence,
        "note": note,
    }  # fmt: skip
    path = add_row(table, cells_of(table, name, value, said), added_to(project=project, here=Path.cwd()))
    write(sys.stdout, f'added to {path}\nnext: estimator prices show "{name.rpartition(":")[2]}"\n')


@app.command("check")
@guarded
def check(path: Annotated[Path, typer.Argument(help="a CSV file of prices")]) -> None:
    """Check a price file: every error with its line.

    estimator prices check my-prices.csv
    """
    from estimator.app.price_entry import check_devices
    from estimator.catalog.price_files import read_table
    from estimator.cli.output import write
    from estimator.report.commands import file_word
    from estimator.units import counted

    rows = read_table(path, "flag")
    check_devices(path, rows)
    table = rows[0].table if rows else "no"
    write(
        sys.stdout,
        f"{path}: {counted(len(rows), 'row')} of {table}, no errors\n"
        f"next: estimator prices list --prices {file_word(str(path))}\n",
    )


@app.command("export")
@guarded
def export(
    table: Annotated[str, typer.Argument(help="purchase, rent, electricity, carbon, overheads or rates")],
    history: Annotated[bool, typer.Option("--history", help="older rows too")] = False,
    files: Files = None,
    output: o.Output = None,
) -> None:
    """Write a table as the CSV that --prices, a project or your own folder can hold.

    estimator prices export rent -o rent.csv
    """
    from estimator.app.prices import export_text
    from estimator.catalog.prices import load_prices
    from estimator.cli.output import save, write

    text = export_text(load_prices(files=files or ()), table, history=history)
    if output is None:
        write(sys.stdout, text)
    else:
        save(output, text)
