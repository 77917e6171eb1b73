"""The screen of ``estimator layers``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Paragraph, Table
from estimator.report.commands import file_word
from estimator.units import format_bytes, format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Screen
    from estimator.results.work import LayerRow, LayersResult, WorkTotal

_COLUMNS = (
    Column("layer", "left"),
    Column("type", "left", optional=True),
    Column("output", "left"),
    Column("parameters"),
    Column("forward"),
    Column("backward"),
    Column("FLOPs/byte", optional=True),
    Column("saved"),
)


def layers_screen(result: LayersResult, *, asked: str) -> Screen:
    """Return totals first, then a row a layer; ``asked`` is what the command was given as the network."""
    total = result.total
    rows = [*map(_row, result.layers), _total_row(total)]
    return (
        Answer(
            f"{result.network}: {format_si(total.parameters)} parameters, "
            f"{format_si(total.forward_flops, 'FLOPs')} forward ({format_si(total.macs, 'MACs')}) and "
            f"{format_si(total.backward_flops, 'FLOPs')} backward for a batch of {result.batch}"
        ),
        Paragraph(
            "forward and backward are FLOPs of products, 2 a multiply-add; element-wise arithmetic "
            f"({format_si(total.elementwise_flops, 'FLOPs')} forward) is counted apart. "
            f"Training keeps {format_bytes(total.saved_bytes)} of activations ({result.precision}).",
            "dim",
        ),
        Table(
            name="layers",
            columns=_COLUMNS,
            rows=tuple(rows),
            emphasis=frozenset({len(rows) - 1}),
        ),
        *(Paragraph(f"warning: {text}", "warning") for text in result.warnings),
        Paragraph(f"next: estimator predict {file_word(asked)}", "next"),
    )


def _row(row: LayerRow) -> tuple[str, ...]:
    intensity = row.forward_flops / row.forward_bytes if row.forward_bytes else 0.0
    return (
        row.path,
        row.type,
        "x".join(map(str, row.output_shape)),
        f"{row.parameters:,}",
        _count(row.forward_flops),
        _count(row.backward_flops),
        f"{intensity:.1f}" if row.forward_flops else "-",
        format_bytes(row.saved_bytes) if row.saved_bytes else "-",
    )


def _total_row(total: WorkTotal) -> tuple[str, ...]:
    intensity = total.forward_flops / total.forward_bytes if total.forward_bytes else 0.0
    return (
        "total",
        "",
        "",
        f"{total.parameters:,}",
        _count(total.forward_flops),
        _count(total.backward_flops),
        f"{intensity:.1f}",
        format_bytes(total.saved_bytes),
    )


def _count(flops: int) -> str:
    return format_si(flops) if flops else "-"
