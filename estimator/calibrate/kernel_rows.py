"""Reads tables of single matrix products: they fix the product rate where whole steps cannot."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from estimator.calibrate.observation import Observation
from estimator.errors import InputError
from estimator.precision import DType
from estimator.predict.table import table_of
from estimator.software import Software
from estimator.workload.build import product
from estimator.workload.kernel import GemmShape, Phase

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from estimator.hardware.device import Device

SOURCE = "kernel benchmarks"


def read_products(path: Path, load_device: Callable[[str], Device]) -> list[Observation]:
    """Return one observation a line of ``op, device, precision, batch, m, n, k, ms, source``.

    ``op`` is gemm (a product with a weight) or bmm. Raises InputError with the line that cannot be read.
    """
    with path.open(encoding="utf-8", newline="") as stream:
        return [
            _observation(row, load_device, f"{path}:{number}")
            for number, row in enumerate(csv.DictReader(stream), start=2)
        ]


def _observation(row: dict[str, str], load_device: Callable[[str], Device], where: str) -> Observation:
    try:
        dtype = DType(row["precision"])
        shape = GemmShape(*(int(row[side]) for side in ("batch", "m", "n", "k")))
        seconds = float(row["ms"]) * 1e-3
    except (KeyError, ValueError) as error:
        raise InputError(f"{where}: {error}", hint="see the header of the shipped table") from None
    weight = "b" if row["op"] == "gemm" else None
    name = "linear" if weight else "matmul"
    kernel = product(name, Phase.FORWARD, shape, compute=dtype, itemsize=dtype.itemsize, weight=weight)
    return Observation(
        table=table_of([kernel]),
        device=load_device(row["device"]),
        software=Software(),
        seconds=seconds,
        network=f"{row['op']} {shape.m}x{shape.n}x{shape.k}",
        source=f"{SOURCE}: {row['source']}",
        precision=row["precision"],
        device_only=True,
    )
