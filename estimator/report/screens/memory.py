"""The screen of ``estimator memory``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.commands import device_word, network_of
from estimator.report.phrases import NOTHING, percent, short_name, times
from estimator.units import format_bytes

if TYPE_CHECKING:
    from estimator.report.blocks import Block, Screen
    from estimator.results.memory import DeviceMemory, MemoryResult, Remedy


def memory_screen(result: MemoryResult) -> Screen:
    """Return, for each device, whether it fits, the parts, the largest batch and the remedies."""
    blocks: list[Block] = []
    for one in result.devices:
        blocks += [Answer(_answer(result, one)), Paragraph(_basis(one), "dim"), _parts(one)]
        if one.remedies:
            blocks.append(_remedies(one))
    pairs = tuple((a.what, f"{a.value} ({a.why})") for a in result.assumptions)
    if pairs:
        blocks.append(Facts(title="assumed", pairs=pairs))
    blocks += [Paragraph(f"warning: {text}", "warning") for text in result.warnings]
    blocks.append(Paragraph(_next(result), "next"))
    return tuple(blocks)


def _answer(result: MemoryResult, one: DeviceMemory) -> str:
    memory, name = one.memory, short_name(one.device)
    needs = f"{result.inputs['network']} at batch {one.batch:,} needs {format_bytes(memory.total_bytes)}"
    if memory.capacity_bytes is None:
        return f"{needs}; how much {name} has is not known"
    verdict = "fits" if memory.fits else "does NOT fit"
    return f"{needs}: {verdict} in the {format_bytes(memory.capacity_bytes)} of {name}"


def _basis(one: DeviceMemory) -> str:
    largest = one.memory.largest_batch
    said = "" if largest is None else f"the largest batch that fits is {largest:,}; "
    if largest == 0:
        said = "not even a batch of 1 fits; "
    return f"{said}counted from tensors, plus 5 % that allocators lose and the framework's own"


def _parts(one: DeviceMemory) -> Table:
    memory = one.memory
    parts = (
        ("weights", memory.weights_bytes, "one copy"),
        ("gradients", memory.gradients_bytes, "as large as the weights that train"),
        ("optimizer", memory.optimizer_bytes, "its state"),
        ("activations", memory.activations_bytes, "kept for the backward pass; grow with the batch"),
        ("other", memory.other_bytes, "inputs, work space, context, fragmentation"),
    )
    return Table(
        name="parts",
        columns=(
            Column("what", "left"),
            Column("memory"),
            Column("share"),
            Column("why", "left", optional=True),
        ),
        rows=tuple(
            (what, format_bytes(size), percent(size, memory.total_bytes), why) for what, size, why in parts
        ),
    )


def _remedies(one: DeviceMemory) -> Table:
    return Table(
        name="remedies",
        title="what saves memory, and what it costs",
        columns=(
            Column("remedy", "left"), Column("memory"), Column("fits", "left"), Column("largest batch"),
            Column("time a sample"), Column("flags", "left", optional=True),
            Column("note", "left", optional=True),
        ),
        rows=tuple(_row(remedy) for remedy in one.remedies),
    )  # fmt: skip


def _row(remedy: Remedy) -> tuple[str, ...]:
    memory = remedy.memory
    largest = memory.largest_batch
    return (
        remedy.name,
        format_bytes(memory.total_bytes),
        {True: "yes", False: "NO", None: "?"}[memory.fits],
        NOTHING if largest is None else f"{largest:,}",
        NOTHING if remedy.time_ratio is None else times(remedy.time_ratio),
        remedy.flags,
        remedy.note,
    )


def _next(result: MemoryResult) -> str:
    one = result.devices[0]
    network, device = network_of(result.inputs), device_word(one.called)
    fitting = next((r for r in one.remedies if r.memory.fits), None)
    if one.memory.fits is False and fitting is not None:
        return f"next: estimator predict {network} --device {device} {fitting.flags}"
    return f"next: estimator sweep {network} --device {device} --batch 1..{max(2, one.batch)}*2"
