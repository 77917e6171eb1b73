"""``estimator cluster``: detect or measure on every host of a cluster, and merge what others collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from estimator.cli import options as o
from estimator.cli.guard import guarded
from estimator.cli.measuring import Device, For

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

app = typer.Typer(no_args_is_help=True, help="Detect or measure on many hosts, and merge the results.")

Dask = Annotated[
    str,
    typer.Option(
        "--dask", metavar="ADDRESS", envvar="ESTIMATOR_DASK", help="scheduler, e.g. tcp://host:8786"
    ),
]
Workers = Annotated[bool, typer.Option("--every-worker", help="on every worker, not once a host")]


@app.command("detect")
@guarded
def detect(
    dask: Dask,
    every_worker: Workers = False,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Show what is in each host of a Dask cluster.

    estimator cluster detect --dask tcp://scheduler:8786
    """
    from estimator.app.dask_hosts import on_each_host

    _show(on_each_host(dask, detect_here, every_worker=every_worker), format_name, output)


@app.command("measure")
@guarded
def measure(
    network: o.Network,
    dask: Dask,
    device: Device = "cpu",
    batch: o.Batch = None,
    precision: o.Precision = None,
    for_: For = "20s",
    set_: o.Set = None,
    every_worker: Workers = False,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Measure the same training step on each host of a Dask cluster, all at once.

    estimator cluster measure resnet18 --dask tcp://scheduler:8786
    """
    from estimator.app.dask_hosts import on_each_host
    from estimator.app.request import Request
    from estimator.units import parse_seconds

    request = Request(network=network, overrides=tuple(set_ or ()), batch=batch, precision=precision)
    found = on_each_host(dask, measure_here, request, device, parse_seconds(for_), every_worker=every_worker)
    _show(found, format_name, output)


@app.command("merge")
@guarded
def merge(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSON of detect or of measure")],
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Merge JSON results that srun, ssh or kubectl collected on many hosts.

    srun sh -c 'estimator detect -o $(hostname).json'; estimator cluster merge *.json
    """
    from estimator.app.cluster import read_results

    _show(read_results(files), format_name, output)


def _show(
    results: Sequence[tuple[str, Mapping[str, Any]]], format_name: str | None, output: Path | None
) -> None:
    from estimator.app.cluster import merge as merged
    from estimator.cli.output import emit
    from estimator.report.screens.cluster import cluster_screen

    result = merged(results)
    emit(result, lambda: cluster_screen(result), format_name=format_name, output=output)


def detect_here() -> dict[str, Any]:
    """Return what is in this host, as plain data: what a worker runs."""
    from estimator.app.detection import detection_result
    from estimator.cli.host import host_facts

    return detection_result(host_facts(None)).to_mapping()


def measure_here(request: Any, device: str, budget_s: float) -> dict[str, Any]:  # noqa: ANN401 - a Request
    """Return a measurement of this host, as plain data: what a worker runs."""
    from estimator.cli.measuring import measured_result

    return measured_result(request, device, budget_s).to_mapping()
