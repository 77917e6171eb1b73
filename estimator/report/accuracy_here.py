"""Writes the page on how near predictions are on the machine that ``make accuracy-here`` ran on."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from estimator.units import format_seconds

if TYPE_CHECKING:
    from estimator.results.accuracy_here import AccuracyRow, HereAccuracy


def accuracy_here_page(found: HereAccuracy, date: str) -> str:
    """Return the page as Markdown."""
    how = (
        "one thread's own processor time, because other work ran on the machine (load "
        f"{found.load:.1f}): what a step takes on one core if nothing else runs"
        if found.cpu_time
        else f"the clock's time with all cores (load {found.load:.1f} at the end)"
    )
    probed, specified = found.clock_hz / 1e9, found.specified_clock_hz / 1e9
    clocks = f"{probed:.2f} GHz by its probe, {specified:.2f} by its specification"
    facts = (
        f"Machine: {found.device}, {clocks}. {found.software}.",
        f"Measured: {how}. Rounds go through all networks before one is measured again.",
        "Calibrated on the networks that `estimator calibrate --here` uses; none of them is in this table.",
        "Errors are predicted / measured - 1.",
    )
    repeats = (
        f"Repeatability: the rounds lie {_percent(found.repeatability)} apart (median over rows); "
        f"1.2 times that is {_percent(1.2 * found.repeatability)}."
    )
    parts = [
        "# How accurate the predictions are on one machine",
        f"Made by `make accuracy-here` on {date}; nothing here is written by hand.",
        "\n".join(f"* {fact}" for fact in facts),
        "## Median errors",
        _table(
            ("prediction from", "median error", "within 10 %", "within 25 %"),
            [
                (text, _percent(found.median_error(which)), *(_within(found, which, x) for x in (0.10, 0.25)))
                for text, which in (
                    ("specification", "specified"),
                    ("specification and the probed clock", "probed"),
                    ("calibration on other networks", "calibrated"),
                )
            ],
        ),
        repeats,
        _sums(found),
        "## Every row",
        _table(
            ("network", "batch", "measured", "rounds apart", "specified", "probed", "calibrated", "memory"),
            [_row(row) for row in found.rows],
        ),
    ]
    if found.left_out:
        parts += ["## Left out", "\n".join(f"* {text}" for text in found.left_out)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _sums(found: HereAccuracy) -> str:
    gaps = [abs(row.layers_gap) for row in found.rows if row.layers_gap is not None]
    memory = [abs(row.memory) for row in found.rows if row.memory is not None]
    if not gaps or not memory:
        return ""
    return (
        f"The sum of layers is {_percent(median(gaps))} from the step (median), the predicted memory "
        f"{_percent(median(memory))} from the most that tensors held (median)."
    )


def _row(row: AccuracyRow) -> tuple[str, ...]:
    errors = (math.expm1(x) for x in (row.specified, row.probed, row.calibrated))
    return (
        row.network,
        str(row.batch),
        format_seconds(row.measured_s),
        _percent(row.repeat),
        *(f"{100 * error:+.0f} %" for error in errors),
        "—" if row.memory is None else f"{100 * row.memory:+.0f} %",
    )


def _within(found: HereAccuracy, which: str, limit: float) -> str:
    count = sum(abs(math.expm1(getattr(row, which))) <= limit for row in found.rows)
    return f"{count} of {len(found.rows)}"


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"
