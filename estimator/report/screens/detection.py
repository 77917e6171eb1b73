"""The screen of ``estimator detect``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.phrases import NOTHING
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.report.blocks import Screen
    from estimator.results.detection import DetectedDevice, DetectionResult

# What each vendor calls its fp32 lanes and the units that hold them.
_UNITS = {
    "nvidia": "CUDA cores / SMs",
    "amd": "stream processors / CUs",
    "intel": "Xe vector engines / Xe-cores",
    "apple": "lanes / GPU cores",
}


def detection_screen(result: DetectionResult) -> Screen:
    """Return what is here in a line, the CPU's facts, the devices with their peaks, and findings."""
    host = result.host
    return (
        Answer(_answer(result)),
        Facts(title="CPU", pairs=_cpu(host.cpu, host.memory)),
        *(Facts(title=f"GPU {gpu.get('index')}", pairs=_gpu(gpu)) for gpu in host.gpus),
        *((devices_table(host.devices, title="dense peaks and bandwidth"),) if host.devices else ()),
        *_clocks(host.devices),
        *((_probe_table(host.probe),) if host.probe else ()),
        *_findings(result),
        Paragraph("next: estimator compare resnet50 cpu gtx-1080-ti rtx-4090", "next"),
    )


def _answer(result: DetectionResult) -> str:
    host = result.host
    cpu = next((d for d in host.devices if d.kind == "cpu"), None)
    gpus = [gpu.get("name") or "a GPU" for gpu in host.gpus]
    if cpu is None:
        text = str(host.cpu.get("model_name") or "a CPU that could not be read")
    else:
        text = (
            f"{cpu.name}: {_number(cpu.units)} usable cores, {_number(cpu.lanes)} lanes "
            "(fp32 multiply-adds a clock)"
        )
    return f"{text}; {', '.join(gpus) if gpus else 'no GPU found'}"


def _cpu(cpu: Mapping[str, Any], memory: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    clocks = [
        (label, cpu.get(f"{name}_clock_hz"))
        for label, name in (
            ("base", "base"),
            ("max", "max"),
            ("now", "current"),
            ("time-stamp counter", "tsc"),
        )
    ]
    known = [f"{label} {hz / 1e9:.2f} GHz" for label, hz in clocks if hz]
    simd = cpu.get("simd_bits")
    pipes = cpu.get("fma_pipes")
    kind = "FMA pipes" if cpu.get("has_fma") else "add + multiply pipes"
    pairs = (
        ("model", cpu.get("model_name")),
        ("microarchitecture", cpu.get("microarchitecture_name") or cpu.get("microarchitecture")),
        ("sockets", cpu.get("sockets")),
        ("cores / threads", f"{_or(cpu.get('physical_cores'))} / {_or(cpu.get('threads'))}"),
        (
            "usable",
            (
                f"{_number(cpu.get('usable_cores'))} cores, {_number(cpu.get('usable_cpus'))} threads "
                "under affinity and control-group limits"
            ),
        ),
        ("SIMD", f"{simd} bits x {_or(pipes)} {kind}" if simd else None),
        (
            "lanes",
            f"{_number(cpu.get('lanes'))} = cores x pipes x width in fp32" if cpu.get("lanes") else None,
        ),
        ("matrix unit", cpu.get("matrix_unit")),
        ("clock", ", ".join(known) or None),
        ("caches", ", ".join(map(_cache, cpu.get("caches") or ())) or None),
        ("memory", _memory(memory)),
        ("virtual machine", "yes" if cpu.get("virtualised") else None),
    )
    return tuple((label, str(value)) for label, value in pairs if value is not None)


def _gpu(gpu: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    clock, memory = gpu.get("max_clock_hz"), gpu.get("memory_bytes")
    bandwidth, power = gpu.get("bandwidth_bytes_per_s"), gpu.get("power_limit_w")
    cores, units, tensor = gpu.get("cores"), gpu.get("units"), gpu.get("tensor_cores")
    pairs = (
        ("name", gpu.get("name")),
        (
            _UNITS.get(str(gpu.get("vendor")).lower(), "lanes / units"),
            f"{_or(cores)} / {_or(units)}" if cores or units else None,
        ),
        ("tensor cores", "none" if tensor == 0 else tensor),
        ("architecture", gpu.get("target")),
        ("clock", f"{clock / 1e6:.0f} MHz at most" if clock else None),
        ("memory", f"{format_bytes(memory)}{_shared(gpu)}" if memory else None),
        ("bandwidth", f"{bandwidth / 1e9:.0f} GB/s" if bandwidth else None),
        ("link", _link(gpu)),
        ("links to other GPUs", _peers(gpu)),
        ("power limit", f"{power:.0f} W" if power else None),
        ("driver", gpu.get("driver_version")),
    )
    return tuple((label, str(value)) for label, value in pairs if value is not None)


def _shared(gpu: Mapping[str, Any]) -> str:
    return " (main memory)" if gpu.get("unified_memory") else ""


def _link(gpu: Mapping[str, Any]) -> str | None:
    """Return ``PCIe 4.0 x16``, and how many lanes are used where that is fewer."""
    generation, width, rate = (gpu.get(f"pcie_{name}") for name in ("generation", "width", "bytes_per_s"))
    if not generation or not width:
        return None
    used = gpu.get("pcie_current_width")
    fewer = f"; only x{used} in use" if used and used < width else ""
    return f"PCIe {generation}.0 x{width}{f', {rate / 1e9:.1f} GB/s' if rate else ''}{fewer}"


def _peers(gpu: Mapping[str, Any]) -> str | None:
    """Return how many direct links there are to other GPUs, and the bytes a second of all of them."""
    peers = gpu.get("peers") or ()
    if not peers:
        return None
    rates = [peer.get("bytes_per_s") for peer in peers]
    rate = f", {sum(rates) / 1e9:.0f} GB/s in one direction" if all(rates) else ""
    return f"{sum(peer['links'] for peer in peers)}{rate}"


def _clocks(devices: Sequence[DetectedDevice]) -> tuple[Paragraph, ...]:
    """Say at which clock each device's peaks are: often not the highest one that the driver names."""
    clocks = [f"{d.name} {d.clock_hz / 1e6:,.0f} MHz" for d in devices if d.clock_hz]
    return (Paragraph(f"peaks are at these clocks: {', '.join(clocks)}", "dim"),) if clocks else ()


def devices_table(devices: Sequence[DetectedDevice], *, title: str) -> Table:
    """Return a row a device: lanes, peaks by format (the faster unit), bandwidth, ridge point."""
    formats = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8")
    shown = [f for f in formats if any(f in d.peaks_flop_per_s for d in devices)]
    return Table(
        name="devices",
        title=title,
        columns=(
            Column("device", "left"),
            Column("units"),
            Column("lanes"),
            *(Column(f"{name} FLOP/s", optional=name not in ("fp32", "fp16")) for name in shown),
            Column("bandwidth"),
            Column("fp32 ridge, FLOP/byte", optional=True),
        ),
        rows=tuple(
            (
                d.name,
                f"{_number(d.units)} {d.unit_name}" if d.units else NOTHING,
                _number(d.lanes),
                *(_peak(d, name) for name in shown),
                f"{d.bandwidth_bytes_per_s / 1e9:,.0f} GB/s" if d.bandwidth_bytes_per_s else NOTHING,
                f"{d.ridge_point_flop_per_byte['fp32']:.1f}"
                if "fp32" in d.ridge_point_flop_per_byte
                else NOTHING,
            )
            for d in devices
        ),
    )


def _probe_table(probe: Mapping[str, Any]) -> Table:
    """Return a row a rate: the best of the repetitions, and the middle where other work disturbed it."""
    return Table(
        name="probe",
        title=f"measured here, in {probe['took_s']:.1f} s",
        columns=(Column("what", "left"), Column("best"), Column("middle"), Column("", "left")),
        rows=tuple(_probe_row(name, rate) for name, rate in probe["rates"].items()),
    )


def _probe_row(name: str, rate: Mapping[str, Any]) -> tuple[str, str, str, str]:
    disturbed = "disturbed" if rate["noisy"] else ""
    if name == "launch_s":  # a time: the least is the best
        return "kernel launch", format_seconds(rate["low"]), format_seconds(rate["high"]), disturbed
    what = name.replace("_bytes_per_s", "").replace("_flop_per_s", " products").replace("clock_hz", "clock,")
    what = re.sub(r"\b1 threads\b", "1 thread", what.replace("_", " "))
    return what, _rate(name, rate["high"]), _rate(name, rate["low"]), disturbed


def _rate(name: str, value: float) -> str:
    unit = "Hz" if "clock" in name else "B/s" if "bytes" in name else "FLOP/s"
    return format_si(value, unit)


def _peak(device: DetectedDevice, name: str) -> str:
    rates = device.peaks_flop_per_s.get(name)
    return format_si(max(rates.values())) if rates else NOTHING


def _findings(result: DetectionResult) -> tuple[Paragraph, ...]:
    return tuple(
        Paragraph(f"not known: {finding.what} ({finding.why}); {finding.remedy}", "warning")
        for finding in result.findings
    )


def _memory(memory: Mapping[str, Any]) -> str | None:
    usable, total = memory.get("usable_bytes"), memory.get("total_bytes")
    if not usable:
        return None
    limited = f" of {format_bytes(total)}" if total and total != usable else ""
    return f"{format_bytes(usable)}{limited}"


def _cache(cache: Mapping[str, Any]) -> str:
    times = f"{cache['instances']} x " if cache.get("instances", 1) > 1 else ""
    kind = {"data": "d", "instruction": "i"}.get(str(cache.get("kind", "")).lower(), "")
    return f"L{cache['level']}{kind} {times}{format_bytes(cache['size_bytes'])}"


def _number(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _or(value: object) -> str:
    return NOTHING if value is None else str(value)
