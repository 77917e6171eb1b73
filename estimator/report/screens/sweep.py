"""The screen of ``estimator sweep``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.commands import device_word, network_of
from estimator.report.phrases import NOTHING, times
from estimator.units import counted, format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.report.blocks import Block, Screen
    from estimator.results.sweep import SweepPoint, SweepResult

ROWS_SHOWN = 40
_TOKENS = "tokens/s"


def sweep_screen(result: SweepResult, *, most: int | None = ROWS_SHOWN) -> Screen:
    """Return the best setting, why, and a row a point; the fastest ``most`` where there are more."""
    best = None if result.best is None else result.points[result.best]
    shown, unit = _shown(result, most), _unit(result)
    blocks: list[Block] = [
        Answer(_answer(result, best, unit)),
        Paragraph(_basis(result, best, unit), "dim"),
        *(Paragraph(line) for line in _marks(result, best)),
        _table(result, shown, unit),
    ]
    if len(shown) < len(result.points):
        left = len(result.points) - len(shown)
        blocks.append(
            Paragraph(f"the fastest {len(shown)}; {left:,} more with --rows 0, -f csv or -f json", "dim")
        )
    if result.assumptions:
        pairs = tuple((a.what, f"{a.value} ({a.why})") for a in result.assumptions)
        blocks.append(Facts(title="assumed", pairs=pairs))
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    blocks.append(Paragraph(_next(result, best), "next"))
    return tuple(blocks)


def _shown(result: SweepResult, most: int | None) -> list[int]:
    indices = range(len(result.points))
    if not most or len(indices) <= most:
        return list(indices)

    def order(i: int) -> tuple[bool, float]:
        return result.points[i].fits is False, -result.points[i].rate

    return sorted(indices, key=order)[:most]


def _setting(point: SweepPoint) -> str:
    """Return ``batch 64, amp, rtx-4090``."""
    named = {"batch", "devices", "accumulation"}
    parts = []
    for name, value in point.settings.items():
        label = name.removeprefix("set ")
        is_word = name == label and name not in named
        parts.append(str(value) if is_word else f"{label} {value}")
    return ", ".join(parts)


def _answer(result: SweepResult, best: SweepPoint | None, unit: str) -> str:
    network = result.inputs.get("network", "the network")
    if best is None:
        return f"{network}: no setting fits in memory"
    fitting = [p for p in result.points if p.fits is not False]
    slowest = min(fitting, key=lambda p: p.rate)
    gain = ""
    if slowest is not best:
        gain = f", {times(best.rate / slowest.rate)} the slowest that fits"
    return f"{network}: fastest with {_setting(best)}: {format_si(_per_s(best, unit))} {unit}{gain}"


def _basis(result: SweepResult, best: SweepPoint | None, unit: str) -> str:
    share = f"{100 * result.coverage:.0f} % range"
    basis = f"(basis: {', '.join(result.basis)})"
    many = counted(len(result.points), "setting")
    if best is None:
        return f"{many}; times have an {share} {basis}"
    rate = _per_s(best, unit) * best.step_s
    low, high = rate / best.high_s, rate / best.low_s
    return f"{share} {format_si(low)} to {format_si(high)} {unit} {basis}; {many}"


def _unit(result: SweepResult) -> str:
    """Return what throughput counts: tokens where the samples of the settings differ in length."""
    lengths = {round((p.tokens_per_s or 0.0) / p.samples_per_s) for p in result.points}
    return _TOKENS if len(lengths) > 1 else "samples/s"


def _per_s(point: SweepPoint, unit: str) -> float:
    return point.rate if unit == _TOKENS else point.samples_per_s


def _marks(result: SweepResult, best: SweepPoint | None) -> list[str]:
    """Say where the series of the best setting has its knee and its wall."""
    if best is None:
        return []
    others = {k: v for k, v in best.settings.items() if k != "batch"}
    series = [p for p in result.points if {k: v for k, v in p.settings.items() if k != "batch"} == others]
    lines = []
    knee = next((p for p in series if p.knee), None)
    wall = next((p for p in series if p.wall), None)
    if knee is not None:
        lines.append(f"knee: from batch {knee.batch:,} on, throughput is within 10 % of the best that fits")
    if wall is not None:
        lines.append(f"memory wall: batch {wall.batch:,} is the largest here that fits")
    return lines


def _table(result: SweepResult, shown: Sequence[int], unit: str) -> Table:
    swept = tuple(result.axes)
    columns = (
        *(Column(name.removeprefix("set "), "right" if _numeric(result, name) else "left") for name in swept),
        Column(unit), Column("note", "left"), Column("memory", optional=True),
        Column("a step", optional=True), Column("range", optional=True),
    )  # fmt: skip
    return Table(
        name="points",
        columns=columns,
        rows=tuple(_row(result.points[i], swept, unit, best=i == result.best) for i in shown),
        emphasis=frozenset(n for n, i in enumerate(shown) if i == result.best),
    )


def _numeric(result: SweepResult, name: str) -> bool:
    return all(isinstance(value, int) for value in result.axes[name])


def _row(point: SweepPoint, swept: Sequence[str], unit: str, *, best: bool) -> tuple[str, ...]:
    marks = [
        word
        for word, holds in (
            ("best", best),
            ("knee", point.knee),
            ("wall", point.wall),
            ("too large", point.fits is False),
        )
        if holds
    ]
    return (
        *(str(point.settings.get(name, NOTHING)) for name in swept),
        format_si(_per_s(point, unit)),
        ", ".join(marks),
        format_bytes(point.memory_bytes),
        format_seconds(point.step_s),
        f"{format_seconds(point.low_s)} to {format_seconds(point.high_s)}",
    )


def _next(result: SweepResult, best: SweepPoint | None) -> str:
    network = network_of(result.inputs)
    if best is None:
        return f"next: estimator memory {network}"
    said = {name: value for name, value in best.settings.items() if name not in {"device", "batch"}}
    flags = "".join(
        f" --set {name.removeprefix('set ')}={value}" if name.startswith("set ") else f" --{name} {value}"
        for name, value in said.items()
    )
    device = device_word(str(best.settings.get("device", result.inputs["device"][0])))
    return f"next: estimator predict {network} --device {device} --batch {best.batch}{flags}"
