"""Running a command on every host of an existing Dask cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.errors import MeasurementError, MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_PATIENCE_S = 15


def on_each_host(
    address: str, run: Callable[..., Mapping[str, Any]], *arguments: object, every_worker: bool = False
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return ``(host, result)`` of one call on one worker of each host, or on every worker.

    Raises MeasurementError where there is no scheduler, no worker, or a call failed.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingPackageError(
            "a Dask cluster needs the distributed package", hint="pip install 'estimator[dask]'"
        ) from None
    try:
        client = Client(address, timeout=_PATIENCE_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise MeasurementError(
            f"no Dask scheduler answers at {address!r}: {error}", hint="start one, or check the address"
        ) from None
    with client:
        workers = _chosen(client.scheduler_info(n_workers=-1)["workers"], every_worker=every_worker)
        if not workers:
            raise MeasurementError(f"the scheduler at {address!r} has no workers", hint="start dask worker")
        futures = [
            (host, client.submit(run, *arguments, workers=[worker], pure=False, allow_other_workers=False))
            for host, worker in workers
        ]
        return [(host, _result(host, future)) for host, future in futures]


def _chosen(workers: Mapping[str, Mapping[str, Any]], *, every_worker: bool) -> list[tuple[str, str]]:
    """Return a name and an address for each host (or worker), in a fixed order."""
    named = sorted(
        (str(info.get("host")), address, str(info.get("name"))) for address, info in workers.items()
    )
    if every_worker:
        return [(f"{host}/{name}", address) for host, address, name in named]
    first: dict[str, str] = {}
    for host, address, _ in named:
        first.setdefault(host, address)
    return list(first.items())


def _result(host: str, future: Any) -> Mapping[str, Any]:  # noqa: ANN401 - of an optional package
    try:
        result: Mapping[str, Any] = future.result()
    except Exception as error:  # noqa: BLE001 - whatever a worker raised is told, not shown as a trace
        text = next(iter(str(error).splitlines()), "")
        raise MeasurementError(
            f"{host}: {type(error).__name__}: {text}", hint="is estimator installed on that host?"
        ) from None
    return result
