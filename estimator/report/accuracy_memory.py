"""Writes the section on memory of the accuracy page, and puts it into a page that is there already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.results.accuracy import MemoryAccuracy, MemoryGroup, MemoryRow

HEADING = "## Memory"
_BEFORE = "## How far these figures can be trusted"
_INTRODUCTION = (
    "Made by `make accuracy-memory` from the shipped tables; no coefficient is fitted to any of these rows. "
    "A prediction is what `estimator memory` answers: tensors counted at the peak of the backward pass, 5 % "
    "that allocators lose, and the framework's own context. Of weights that FSDP spreads a device's shards "
    "are counted, and the blocks that are gathered. Where no figure is stated, a batch that ran and the next "
    "one of its series, which did not, bound the memory from both sides; *in range* tells how often the "
    "largest batch is predicted between the two, or less than 20 % outside. The rules were made with these "
    "rows in view, though each has a reason of its own (decision 6): the figures are not of unseen runs."
)
_FAR = (
    "Networks whose batch that ran is said not to fit (memory too high), or whose batch that failed is said "
    "to fit (too low), by how far the largest batch is off; one row a network. The series of timm goes down "
    "when a step fails, whatever the reason: some of these failed for another one than memory."
)
_GB = 1e9
_MOST_GAPS = 12


def memory_section(result: MemoryAccuracy) -> list[str]:
    """Return the paragraphs of the section, heading first."""
    covered = [group for group in result.groups if group.rows]
    parts = [
        HEADING,
        _INTRODUCTION,
        *table(
            ("runs", "n", "stated", "median %", "bias %", "within 20 %", "ran: said to fit",
             "failed: said not to fit", "in range"),
            map(_group, covered),
        ),
    ]  # fmt: skip
    if result.stated:
        parts += [
            "### Stated figures",
            *table(
                ("run", "device", "batch", "stated GB", "predicted GB", "error %"),
                map(_stated, result.stated),
            ),
        ]
    if result.far:
        parts += [
            "### Verdicts that are wrong",
            _FAR,
            *table(
                ("run", "device", "ran", "failed", "largest predicted", "memory off %"), map(_far, result.far)
            ),
        ]
    if result.uncovered:
        parts += [
            "### Memory not compared",
            *table(("n", "why"), ((str(count), why) for why, count in result.uncovered[:_MOST_GAPS])),
        ]
    return parts


def with_memory(page: str, section: Sequence[str]) -> str:
    """Return a page with the section in place of its own, else before what says how far to trust figures."""
    text = "\n\n".join(section) + "\n\n"
    start = page.find(f"{HEADING}\n")
    if start >= 0:
        after = page.find("\n## ", start)
        return page[:start] + (text + page[after + 1 :] if after >= 0 else text.rstrip("\n") + "\n")
    start = page.find(f"{_BEFORE}\n")
    if start >= 0:
        return page[:start] + text + page[start:]
    return page.rstrip("\n") + "\n\n" + text.rstrip("\n") + "\n"


def _group(group: MemoryGroup) -> tuple[str, ...]:
    return (
        group.what,
        str(group.rows),
        str(group.stated or "—"),
        percent(group.median_error),
        percent(group.bias, signed=True),
        percent(group.close),
        _count(group.ran_said, group.ran),
        _count(group.refused_said, group.refused),
        _count(group.bracketed_close, group.bracketed),
    )


def _count(said: int, known: int) -> str:
    return f"{said} of {known}" if known else "—"


def _stated(row: MemoryRow) -> tuple[str, ...]:
    stated = 0.0 if row.stated_bytes is None else row.stated_bytes
    return (
        _run(row),
        row.device,
        str(row.batch),
        f"{stated / _GB:.2f}",
        f"{row.predicted_bytes / _GB:.2f}",
        percent(row.off, signed=True),
    )


def _far(row: MemoryRow) -> tuple[str, ...]:
    return (
        _run(row),
        row.device if row.devices == 1 else f"{row.devices} x {row.device}",
        "—" if row.ran is None else str(row.ran),
        "—" if row.refused is None else str(row.refused),
        str(row.largest_batch),
        percent(row.off, signed=True),
    )


def _run(row: MemoryRow) -> str:
    return f"{row.label}, {row.recipe}"
