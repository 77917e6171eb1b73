"""``estimator layers``: what work a network is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from estimator.cli import options as o
from estimator.cli.guard import guarded

if TYPE_CHECKING:
    from estimator.report.blocks import Screen
    from estimator.results.work import LayersResult


@guarded
def layers(
    network: o.Network,
    batch: o.Batch = 1,
    precision: o.Precision = None,
    set_: o.Set = None,
    attention: o.Attention = None,
    format_name: o.FormatName = None,
    output: o.Output = None,
) -> None:
    """Show the work of a network, layer by layer: shapes, parameters, FLOPs, bytes, saved activations.

    estimator layers resnet50 --batch 64
    """
    from estimator.app.request import Request, training_of
    from estimator.app.source import open_network
    from estimator.app.work import layers_result
    from estimator.cli.output import emit
    from estimator.networks.lowering import lower

    # FLOPs by convention are the model's: what flash attention computes again is not among them.
    request = Request(network=network, batch=batch, precision=precision, attention=attention or "math")
    described = open_network(request.network, tuple(set_ or ()), sys.stdin.buffer)
    training = training_of(request, described.training)
    result = layers_result(lower(described.network, training), precision=training.precision.name)
    emit(result, lambda: _screen(result, network), format_name=format_name, output=output)


def _screen(result: LayersResult, asked: str) -> Screen:
    from estimator.report.screens.work import layers_screen

    return layers_screen(result, asked=asked)
