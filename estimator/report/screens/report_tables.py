"""The tables of the report, with what a page sorts their cells by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Column
from estimator.report.phrases import between, named, percent, times
from estimator.report.screens.cells import keyed_table, known, share_of, word
from estimator.results.base import plain
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.report.blocks import Table
    from estimator.report.screens.cells import Cell
    from estimator.results.prediction import MemorySummary, Prediction
    from estimator.results.report import AccuracyHistory, NetworkReport, ReportResult

_MOST_LAYERS, _MOST_LAYERS_IN_ALL, _FEWEST_LAYERS = 400, 1500, 60


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
        word(named(p.device)),
        *([word(each.network)] if several else []),
        known(step.time_s.expected, format_seconds),
        (between(step.time_s), step.time_s.low),
        *([known(p.epoch_s, format_seconds)] if epochs else []),
        *([known(p.total_s, format_seconds)] if totals else []),
        known(step.samples_per_s, format_si),
        known(step.samples_per_s / base.step.samples_per_s, times),
        known(step.mfu, lambda share: f"{100 * share:.0f} %"),
        (f"{format_bytes(p.memory.total_bytes)}, {verdict}", p.memory.total_bytes),
        word(f"{name.removesuffix('_s')} {percent(bounds[name], step.time_s.expected)}"),
    ]


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
                word(named(p.device)),
                known(p.step.time_s.expected, format_seconds),
                *(
                    share_of(getattr(getattr(p.step, kind), name), p.step.time_s.expected)
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
                word(work.path),
                word(work.type),
                word(" × ".join(map(str, work.output_shape))),  # noqa: RUF001 - the sign of a product
                known(work.parameters or None, lambda count: f"{count:,.0f}"),
                known(work.forward_flops or None, format_si),
                known(work.backward_flops or None, format_si),
                known(work.saved_bytes or None, format_bytes),
                known(time.forward_s or None, format_seconds),
                known(time.backward_s or None, format_seconds),
                (
                    f"{100 * (time.forward_s + time.backward_s) / total:.1f} %",
                    time.forward_s + time.backward_s,
                ),
                word(time.bound),
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
            [word(named(p.device)), *([word(each.network)] if several else []), *_memory(p.memory, parts)]
            for each, p in _by_network(result)
        ),
    )


def _memory(memory: MemorySummary, parts: Sequence[str]) -> list[Cell]:
    verdict = {True: "yes", False: "no", None: "not known"}[memory.fits]
    return [
        *(known(getattr(memory, f"{part}_bytes"), format_bytes) for part in parts),
        known(memory.capacity_bytes, format_bytes),
        word(verdict),
        known(memory.largest_batch, lambda batch: f"{batch:,.0f}"),
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
        word(", ".join(each.devices)),
        word(each.group.replace("/", ", ")),
        *(known(each.within.get(share), lambda factor: f"{factor:.2f}x") for share in shares),
        known(each.rows, lambda rows: f"{rows:,.0f}"),
        word(each.source),
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
                word(what),
                word(value),
                word(why),
                word("all" if len(places) == everything else ", ".join(places)),
            ]
            for (what, value, why), places in found.items()
        ),
    )
