"""The use case of ``estimator layers``: what work a network is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.results.work import LayerRow, LayersResult, WorkTotal
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.workload.workload import LayerWork, Workload

_BACKWARD = (Phase.DGRAD, Phase.WGRAD)


def layers_result(workload: Workload, *, precision: str) -> LayersResult:
    """Return the work of every layer of a workload, and the sums.

    The sum of forward FLOPs leaves out auxiliary heads, which only training runs; ``training_flops`` and
    the backward pass have them.
    """
    rows = tuple(_row(layer) for layer in workload.layers)
    forward = sum(layer.forward_flops for layer in workload.layers if not layer.training_only)
    return LayersResult(
        network=workload.network,
        batch=workload.batch,
        precision=precision,
        layers=rows,
        total=WorkTotal(
            parameters=workload.parameters,
            forward_flops=forward,
            backward_flops=workload.backward_flops,
            training_flops=workload.forward_flops + workload.backward_flops,
            macs=forward // 2,
            elementwise_flops=sum(row.elementwise_flops for row in rows),
            forward_bytes=sum(row.forward_bytes for row in rows),
            backward_bytes=sum(row.backward_bytes for row in rows),
            saved_bytes=sum(row.saved_bytes for row in rows),
            kernels=sum(row.kernels for row in rows),
        ),
        warnings=(
            *unstated_warnings(workload.unstated_layers),
            *(
                f"layer {path} is Custom: its figures are the user's own"
                for path in workload.custom_layers
                if path not in workload.unstated_layers
            ),
        ),
    )


def unstated_warnings(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return that Custom layers count nothing, because nothing is said of their work."""
    return tuple(
        f"layer {path} is Custom and says neither its FLOPs nor its bytes: it counts as no work at all; "
        "write flops: and bytes:"
        for path in paths
    )


def _row(layer: LayerWork) -> LayerRow:
    forward = [k for k in layer.kernels if k.phase is Phase.FORWARD]
    backward = [k for k in layer.kernels if k.phase in _BACKWARD]
    return LayerRow(
        path=layer.path,
        type=layer.kind,
        output_shape=layer.output_shape,
        parameters=layer.parameters,
        forward_flops=layer.forward_flops,
        backward_flops=layer.backward_flops,
        macs=layer.forward_flops // 2,
        elementwise_flops=sum(k.elementwise_flops for k in forward),
        forward_bytes=sum(k.bytes for k in forward),
        backward_bytes=sum(k.bytes for k in backward),
        saved_bytes=layer.saved_bytes,
        kernels=sum(k.launches for k in layer.kernels),
    )
