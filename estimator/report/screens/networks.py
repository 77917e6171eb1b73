"""The screens of ``estimator networks``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.report.blocks import Answer, Column, Facts, Paragraph, Table
from estimator.report.commands import file_word
from estimator.units import format_si

if TYPE_CHECKING:
    from estimator.report.blocks import Screen
    from estimator.results.networks import NetworkCheckResult, NetworkListResult


def list_screen(result: NetworkListResult) -> Screen:
    """Return a row a network."""
    return (
        Answer(f"{len(result.networks):,} network{'s' if len(result.networks) != 1 else ''}"),
        Table(
            name="networks",
            columns=(
                Column("name", "left"),
                Column("family", "left"),
                Column("parameters"),
                Column("FLOPs a sample"),
                Column("input", "left", fold=True, optional=True),
            ),
            rows=tuple(
                (n.name, n.family, format_si(n.parameters), format_si(n.forward_flops), n.input)
                for n in result.networks
            ),
        ),
        Paragraph("next: estimator layers NAME", "next"),
    )


def check_screen(result: NetworkCheckResult, *, asked: str) -> Screen:
    """Return what was understood of a file; ``asked`` is what the command was given as the network."""
    network = result.network
    layers = "layer" if result.layers == 1 else "layers"
    custom = (("Custom layers", ", ".join(result.custom_layers)),) if result.custom_layers else ()
    return (
        Answer(f"{network.name}: no errors, {result.layers:,} {layers}"),
        Facts(
            title="",
            pairs=(
                ("parameters", f"{network.parameters:,}"),
                ("forward FLOPs", f"{network.forward_flops:,} a sample"),
                ("input", network.input),
                *custom,
            ),
        ),
        Paragraph(f"next: estimator layers {file_word(asked)}", "next"),
    )
