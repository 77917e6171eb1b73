"""The screens of ``estimator devices``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.phrases import NOTHING, kind_word
from estimator.units import counted, format_bytes, format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Screen
    from estimator.results.devices import DeviceListResult, DeviceResult, DeviceRow

_WHOLE_GIB_FROM = 10


def list_screen(result: DeviceListResult) -> Screen:
    """Return a row a device."""
    return (
        Answer(counted(len(result.devices), "device")),
        Table(
            name="devices",
            columns=(
                Column("id", "left"),
                Column("name", "left", fold=True),
                Column("released", "left", optional=True),
                Column("lanes"),
                Column("memory, GiB"),
                Column("GB/s"),
                Column("fp32 FLOP/s"),
                Column("fp16 FLOP/s", optional=True),
                Column("W", optional=True),
            ),
            rows=tuple(map(_row, result.devices)),
        ),
        Paragraph("peaks are dense, of the faster of vector and matrix units; — is not known", "dim"),
        Paragraph("next: estimator devices show ID", "next"),
    )


def _row(d: DeviceRow) -> tuple[str, ...]:
    return (
        d.id,
        d.name,
        d.released or NOTHING,
        f"{d.lanes:,.0f}",
        _gib(d.memory_bytes) if d.memory_bytes else NOTHING,
        f"{d.bandwidth_bytes_per_s / 1e9:,.0f}" if d.bandwidth_bytes_per_s else NOTHING,
        format_si(d.fp32_flop_per_s) if d.fp32_flop_per_s else NOTHING,
        format_si(d.fp16_flop_per_s) if d.fp16_flop_per_s else NOTHING,
        f"{d.power_limit_w:,.0f}" if d.power_limit_w else NOTHING,
    )


def _gib(memory_bytes: int) -> str:
    """Return GiB, with decimals below 10 only: ``80``, ``1.5``, ``0.3``."""
    gib = memory_bytes / 2**30
    return f"{gib:,.0f}" if gib >= _WHOLE_GIB_FROM else f"{gib:.2g}"


def show_screen(result: DeviceResult) -> Screen:
    """Return every field with its source, then the peaks."""
    return (
        Answer(
            f"{result.name}: {result.units:g} {result.unit_name}s, {result.lanes:,.0f} lanes "
            "(fp32 multiply-adds a clock)"
        ),
        Facts(title="", pairs=_facts(result)),
        Table(
            name="peaks",
            title="dense peaks",
            columns=(
                Column("precision", "left"),
                Column("vector FLOP/s"),
                Column("matrix FLOP/s"),
                Column("ridge point, FLOP/byte"),
            ),
            rows=tuple(
                (
                    name,
                    format_si(rates["vector"]) if "vector" in rates else NOTHING,
                    format_si(rates["matrix"]) if "matrix" in rates else NOTHING,
                    f"{result.ridge_point_flop_per_byte[name]:.1f}"
                    if name in result.ridge_point_flop_per_byte
                    else NOTHING,
                )
                for name, rates in result.peaks_flop_per_s.items()
            ),
        ),
        Table(
            name="sources",
            title="where each figure comes from",
            columns=(Column("field", "left"), Column("basis", "left"), Column("source", "left", fold=True)),
            rows=tuple(
                (field, str(p["basis"]), f"{p['source']} ({p['note']})" if p.get("note") else p["source"])
                for field, p in result.provenance.items()
            ),
        ),
        Paragraph(
            f"calibration: {result.calibration['tier']}, {result.calibration['rows']} measured rows", "dim"
        ),
        Paragraph(f"next: estimator compare resnet50 cpu {result.id}", "next"),
    )


def _facts(d: DeviceResult) -> tuple[tuple[str, str], ...]:
    pairs = (
        ("id", d.id),
        ("vendor, kind", f"{d.vendor}, {kind_word(d.vendor, d.id, d.kind)}"),
        ("architecture", d.architecture),
        ("clock", f"{d.clock_hz / 1e6:,.0f} MHz"),
        ("base clock", f"{d.base_clock_hz / 1e6:,.0f} MHz" if d.base_clock_hz else NOTHING),
        ("memory", format_bytes(d.memory_bytes) if d.memory_bytes else NOTHING),
        ("bandwidth", f"{d.bandwidth_bytes_per_s / 1e9:,.0f} GB/s" if d.bandwidth_bytes_per_s else NOTHING),
        ("caches", ", ".join(f"{k} {format_bytes(v)}" for k, v in d.cache_bytes.items()) or NOTHING),
        ("power limit", f"{d.power_limit_w:,.0f} W" if d.power_limit_w else NOTHING),
        ("released", d.released or NOTHING),
        ("launch price", f"${d.launch_price_usd:,.0f}" if d.launch_price_usd else NOTHING),
        ("chips a board", str(d.chips_per_board) if d.chips_per_board > 1 else ""),
        ("also called", ", ".join(d.aliases)),
        ("PCI ids", ", ".join(d.pci_ids)),
        ("note", d.note),
    )
    return tuple((label, value) for label, value in pairs if value)
