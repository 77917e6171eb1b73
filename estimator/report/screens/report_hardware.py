"""The tables of the report about hardware: what devices have, and where those figures come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Column
from estimator.report.phrases import NOTHING
from estimator.report.screens.cells import keyed_table, known, word
from estimator.units import format_bytes, format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Table
    from estimator.results.devices import DeviceResult
    from estimator.results.report import ReportResult

_MOST_SOURCES = 300
_SAID_ELSEWHERE = frozenset({"vendor", "kind", "year", "targets", "unit_name"})  # words, not figures


def hardware_table(result: ReportResult) -> Table:
    """Return a row a device: what it has and what it could do."""
    precisions = [name for name in ("fp32", "tf32", "fp16", "bf16", "fp8") if _any_peak(result, name)]
    columns = [
        Column("device", "left"), Column("architecture", "left"), Column("units"), Column("lanes"),
        Column("clock"), *(Column(f"{name} FLOP/s") for name in precisions), Column("GB/s"), Column("memory"),
        Column("power limit"), Column("released", "left"),
    ]  # fmt: skip
    return keyed_table(
        "hardware",
        "What the devices have (peaks are dense, of the faster unit)",
        columns,
        (
            [
                word(d.name),
                word(d.architecture),
                (f"{d.units:g} {d.unit_name}", d.units),
                known(d.lanes, lambda lanes: f"{lanes:,.0f}"),
                known(d.clock_hz, lambda hz: f"{hz / 1e9:.2f} GHz"),
                *(known(_peak(d, name), format_si) for name in precisions),
                known(d.bandwidth_bytes_per_s, lambda rate: f"{rate / 1e9:,.0f}"),
                known(d.memory_bytes, format_bytes),
                known(d.power_limit_w, lambda watts: f"{watts:,.0f} W"),
                word(d.released or NOTHING),
            ]
            for d in result.hardware
        ),
    )


def _peak(device: DeviceResult, precision: str) -> float | None:
    rates = device.peaks_flop_per_s.get(precision)
    return max(rates.values()) if rates else None


def _any_peak(result: ReportResult, precision: str) -> bool:
    return any(_peak(device, precision) for device in result.hardware)


def sources_table(result: ReportResult) -> Table:
    """Return where the figures of each device come from, those of one source together."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for device in result.hardware:
        for field, p in device.provenance.items():
            if field not in _SAID_ELSEWHERE:
                found.setdefault((device.name, str(p["basis"]), _source(p)), []).append(field)
    columns = (
        Column("device", "left"), Column("basis", "left"), Column("figures", "left", fold=True),
        Column("source", "left", fold=True),
    )  # fmt: skip
    return keyed_table(
        "sources",
        "Where the figures of the devices come from",
        columns,
        (
            [word(name), word(basis), word(", ".join(f.replace("_", " ") for f in fields)), word(source)]
            for (name, basis, source), fields in list(found.items())[:_MOST_SOURCES]
        ),
    )


def _source(provenance: dict[str, str]) -> str:
    note = provenance.get("note")
    return f"{provenance['source']} ({note})" if note else str(provenance["source"])
