"""The tables of the report, with what a page sorts their cells by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from estimator.report.blocks import Column, Table
from estimator.report.phrases import NOTHING, between, named, percent, times
from estimator.results.base import plain
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from estimator.results.devices import DeviceResult
    from estimator.results.prediction import MemorySummary, Prediction
    from estimator.results.report import AccuracyHistory, NetworkReport, ReportResult

    Key: TypeAlias = float | str | None
    Cell: TypeAlias = tuple[str, Key]

_MOST_LAYERS, _MOST_LAYERS_IN_ALL, _FEWEST_LAYERS = 400, 1500, 60
_MOST_SOURCES = 300
_SAID_ELSEWHERE = frozenset({"vendor", "kind", "year", "targets", "unit_name"})  # words, not figures


def keyed_table(name: str, title: str, columns: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> Table:
    """Return a table of cells that are each a text and what it is sorted by."""
    found = [tuple(row) for row in rows]
    return Table(
        name=name,
        title=title,
        columns=tuple(columns),
        rows=tuple(tuple(text for text, _ in row) for row in found),
        keys=tuple(tuple(key for _, key in row) for row in found),
    )


def _word(text: str) -> Cell:
    return text, text


def _of(value: float | None, write: Callable[[float], str]) -> Cell:
    return (NOTHING, None) if value is None or math.isnan(value) else (write(value), value)


def _share(part: float, whole: float) -> Cell:
    return percent(part, whole), part / whole if whole > 0 else None


def _by_network(result: ReportResult) -> list[tuple[NetworkReport, Prediction]]:
    return [
        (each, p)
        for each in result.networks
        for p in sorted(each.comparison.predictions, key=lambda p: -p.step.samples_per_s)
    ]


def times_table(result: ReportResult) -> Table:
    """Return a row a network and device: the main table, fastest first."""
    several = len(result.networks) > 1
    rows = _by_network(result)
    epochs, totals = (any(getattr(p, name) is not None for _, p in rows) for name in ("epoch_s", "total_s"))
    columns = [
        Column("device", "left"), *([Column("network", "left")] if several else []), Column("a step"),
        Column("range of a step"), *([Column("an epoch")] if epochs else []),
        *([Column("in all")] if totals else []), Column("samples/s"), Column("speed-up"), Column("of peak"),
        Column("memory"), Column("bound by", "left"),
    ]  # fmt: skip
    return keyed_table(
        "times",
        "Predicted training times",
        columns,
        (_times_row(each, p, several=several, epochs=epochs, totals=totals) for each, p in rows),
    )


def _times_row(
    each: NetworkReport, p: Prediction, *, several: bool, epochs: bool, totals: bool
) -> list[Cell]:
    base = next(
        (b for b in each.comparison.predictions if b.device.id == each.comparison.baseline),
        each.comparison.predictions[0],
    )
    step, bounds = p.step, plain(p.step.bounds)
    name = max(bounds, key=lambda key: float(bounds[key]))
    verdict = {True: "fits", False: "NO", None: "capacity not known"}[p.memory.fits]
    return [
        _word(named(p.device)),
        *([_word(each.network)] if several else []),
        _of(step.time_s.expected, format_seconds),
        (between(step.time_s), step.time_s.low),
        *([_of(p.epoch_s, format_seconds)] if epochs else []),
        *([_of(p.total_s, format_seconds)] if totals else []),
        _of(step.samples_per_s, format_si),
        _of(step.samples_per_s / base.step.samples_per_s, times),
        _of(step.mfu, lambda share: f"{100 * share:.0f} %"),
        (f"{format_bytes(p.memory.total_bytes)}, {verdict}", p.memory.total_bytes),
        _word(f"{name.removesuffix('_s')} {percent(bounds[name], step.time_s.expected)}"),
    ]


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
                _word(d.name),
                _word(d.architecture),
                (f"{d.units:g} {d.unit_name}", d.units),
                _of(d.lanes, lambda lanes: f"{lanes:,.0f}"),
                _of(d.clock_hz, lambda hz: f"{hz / 1e9:.2f} GHz"),
                *(_of(_peak(d, name), format_si) for name in precisions),
                _of(d.bandwidth_bytes_per_s, lambda rate: f"{rate / 1e9:,.0f}"),
                _of(d.memory_bytes, format_bytes),
                _of(d.power_limit_w, lambda watts: f"{watts:,.0f} W"),
                _word(d.released or NOTHING),
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
            [_word(name), _word(basis), _word(", ".join(f.replace("_", " ") for f in fields)), _word(source)]
            for (name, basis, source), fields in list(found.items())[:_MOST_SOURCES]
        ),
    )


def _source(provenance: dict[str, str]) -> str:
    note = provenance.get("note")
    return f"{provenance['source']} ({note})" if note else str(provenance["source"])


def phases_table(each: NetworkReport) -> Table:
    """Return a row a device: the shares of a step by phase and by what limits it."""
    ordered = sorted(each.comparison.predictions, key=lambda p: -p.step.samples_per_s)
    phases = ("forward_s", "backward_s", "optimizer_s", "communication_s", "data_s")
    bounds = ("compute_s", "memory_s", "launch_s", "host_s", "communication_s", "serial_s")
    parts = [("phases", name) for name in phases] + [("bounds", name) for name in bounds]
    shown = [
        (kind, name) for kind, name in parts if any(getattr(getattr(p.step, kind), name) > 0 for p in ordered)
    ]
    titles = {"phases": "", "bounds": "by "}
    columns = [
        Column("device", "left"),
        Column("a step"),
        *(Column(f"{titles[kind]}{name.removesuffix('_s')}") for kind, name in shown),
    ]
    return keyed_table(
        "phases",
        f"Shares of a step of {each.network}: by phase, and by what limits it",
        columns,
        (
            [
                _word(named(p.device)),
                _of(p.step.time_s.expected, format_seconds),
                *(
                    _share(getattr(getattr(p.step, kind), name), p.step.time_s.expected)
                    for kind, name in shown
                ),
            ]
            for p in ordered
        ),
    )


def layers_table(each: NetworkReport, best: Prediction, *, networks: int) -> tuple[Table, int]:
    """Return the layers of one of ``networks`` in their order, and how many quick ones are left out.

    Rows are shared out, so that the page of many large networks stays small.
    """
    most = max(_FEWEST_LAYERS, min(_MOST_LAYERS, _MOST_LAYERS_IN_ALL // networks))
    total = best.step.time_s.expected
    rows = list(zip(each.work.layers, best.layers, strict=True))
    quick = sorted(range(len(rows)), key=lambda i: -(rows[i][1].forward_s + rows[i][1].backward_s))
    kept = sorted(quick[:most])
    columns = (
        Column("layer", "left", fold=True), Column("type", "left"), Column("output", "left"),
        Column("parameters"), Column("FLOPs forward"), Column("FLOPs backward"), Column("saved"),
        Column("forward"), Column("backward"), Column("of step"), Column("bound by", "left"),
    )  # fmt: skip
    cells = []
    for work, time in (rows[i] for i in kept):
        cells.append(
            [
                _word(work.path),
                _word(work.type),
                _word(" × ".join(map(str, work.output_shape))),  # noqa: RUF001 - the sign of a product
                _of(work.parameters or None, lambda count: f"{count:,.0f}"),
                _of(work.forward_flops or None, format_si),
                _of(work.backward_flops or None, format_si),
                _of(work.saved_bytes or None, format_bytes),
                _of(time.forward_s or None, format_seconds),
                _of(time.backward_s or None, format_seconds),
                (
                    f"{100 * (time.forward_s + time.backward_s) / total:.1f} %",
                    time.forward_s + time.backward_s,
                ),
                _word(time.bound),
            ]
        )
    title = f"Layers of {each.network} at batch {each.work.batch} on {named(best.device)}"
    return keyed_table("layers", title, columns, cells), len(rows) - len(kept)


def memory_table(result: ReportResult) -> Table:
    """Return what a step holds on each device at its peak."""
    several = len(result.networks) > 1
    parts = ("weights", "gradients", "optimizer", "activations", "other", "total")
    columns = [
        Column("device", "left"), *([Column("network", "left")] if several else []),
        *(Column(part) for part in parts), Column("capacity"), Column("fits", "left"),
        Column("largest batch"),
    ]  # fmt: skip
    return keyed_table(
        "memory",
        "Memory of one device at the peak of a step",
        columns,
        (
            [_word(named(p.device)), *([_word(each.network)] if several else []), *_memory(p.memory, parts)]
            for each, p in _by_network(result)
        ),
    )


def _memory(memory: MemorySummary, parts: Sequence[str]) -> list[Cell]:
    verdict = {True: "yes", False: "no", None: "not known"}[memory.fits]
    return [
        *(_of(getattr(memory, f"{part}_bytes"), format_bytes) for part in parts),
        _of(memory.capacity_bytes, format_bytes),
        _word(verdict),
        _of(memory.largest_batch, lambda batch: f"{batch:,.0f}"),
    ]


def accuracy_table(result: ReportResult) -> Table:
    """Return how far predictions of each kind were from measurements."""
    shares = sorted({share for each in result.accuracy for share in each.within})
    columns = (
        Column("devices", "left", fold=True), Column("kind of prediction", "left"),
        *(Column(f"{100 * float(share):.0f} % within") for share in shares), Column("rows"),
        Column("from", "left", fold=True),
    )  # fmt: skip
    return keyed_table(
        "accuracy",
        "How far such predictions were from measurements, as a factor either way",
        columns,
        (_accuracy_row(each, shares) for each in result.accuracy),
    )


def _accuracy_row(each: AccuracyHistory, shares: Sequence[str]) -> list[Cell]:
    return [
        _word(", ".join(each.devices)),
        _word(each.group.replace("/", ", ")),
        *(_of(each.within.get(share), lambda factor: f"{factor:.2f}x") for share in shares),
        _of(each.rows, lambda rows: f"{rows:,.0f}"),
        _word(each.source),
    ]


def assumptions_table(result: ReportResult) -> Table:
    """Return what the predictions take for granted, each once with the networks and devices it is for."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for each, p in _by_network(result):
        for a in p.assumptions:
            found.setdefault((a.what, a.value, a.why), {})[f"{each.network} on {named(p.device)}"] = None
    everything = len(_by_network(result))
    columns = (
        Column("what", "left"), Column("value", "left", fold=True), Column("why", "left", fold=True),
        Column("for", "left", fold=True),
    )  # fmt: skip
    return keyed_table(
        "assumptions",
        "What is taken for granted",
        columns,
        (
            [
                _word(what),
                _word(value),
                _word(why),
                _word("all" if len(places) == everything else ", ".join(places)),
            ]
            for (what, value, why), places in found.items()
        ),
    )
