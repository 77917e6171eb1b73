"""The screens of the loader probe and of measured links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.phrases import NOTHING
from estimator.units import format_bytes, format_seconds, format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Screen
    from estimator.results.probing import CollectivesResult, LoaderResult


def loader_screen(result: LoaderResult) -> Screen:
    """Return who waits for whom, the rates by workers, and why."""
    rate = result.consumed_images_per_s
    return (
        Answer(_loader_answer(result)),
        *(Paragraph(text) for text in result.explanation),
        Table(
            name="workers",
            columns=(Column("workers"), Column("images/s"), Column("of what the network takes")),
            rows=tuple(
                (
                    str(row.workers),
                    f"{row.images_per_s:,.0f}",
                    f"{100 * row.images_per_s / rate:.0f} %" if rate else NOTHING,
                )
                for row in result.rates
            ),
        ),
        Facts(
            title="",
            pairs=(
                ("an image", format_bytes(result.image_bytes) if result.image_bytes else NOTHING),
                (
                    "reading",
                    format_si(result.read_bytes_per_s, "B/s") if result.read_bytes_per_s else NOTHING,
                ),
                ("the network takes", f"{rate:,.0f} images/s ({result.consumed_basis})" if rate else NOTHING),
            ),
        ),
        *(Paragraph(f"warning: {text}", "warning") for text in result.warnings),
    )


def _loader_answer(result: LoaderResult) -> str:
    best = max(row.images_per_s for row in result.rates)
    if result.bottleneck is None or result.consumed_images_per_s is None:
        return f"the loader delivers up to {best:,.0f} images/s; name a network to see who waits for whom"
    network = result.inputs.get("network", "the network")
    if result.bottleneck == "loader":
        return (
            f"the loader is the bottleneck: {best:,.0f} images/s where {network} takes "
            f"{result.consumed_images_per_s:,.0f}"
        )
    return (
        f"{network} is the bottleneck, not the loader: it takes {result.consumed_images_per_s:,.0f} "
        f"images/s of {best:,.0f}"
    )


def collectives_screen(result: CollectivesResult) -> Screen:
    """Return the link's two figures, and each size beside what they say of it."""
    where = "on one host" if result.hosts == 1 else f"on {result.hosts} hosts"
    return (
        Answer(
            f"{result.name}: {format_seconds(result.alpha_s)} to begin, then "
            f"{format_si(result.bus_bytes_per_s, 'B/s')} "
            f"({result.processes} processes {where}, {result.backend})"
        ),
        Table(
            name="all-reduces",
            columns=(Column("message"), Column("measured"), Column("fitted"), Column("error")),
            rows=tuple(
                (
                    format_bytes(point.bytes),
                    format_seconds(point.seconds),
                    format_seconds(point.fitted_s),
                    f"{100 * (point.fitted_s / point.seconds - 1):+.0f} %",
                )
                for point in result.points
            ),
        ),
        Facts(title="", pairs=(("kept in", result.saved_as),)),
        *(Paragraph(f"warning: {text}", "warning") for text in result.warnings),
        Paragraph(f"next: estimator predict resnet50 --devices 8 --link {result.name}", "next"),
    )
