"""Public cases in which a well-known counter is wrong about a whole network, with the right value."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from estimator.app.source import open_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training

if TYPE_CHECKING:
    from estimator.workload.workload import Workload

# The same Linear called three times: parameters once, FLOPs each time (deepspeedai/DeepSpeed#7256).
ALIASES = """
inputs: {x: {shape: [3, 100]}}
layers:
  - {type: Linear, out_features: 100, bias: false, name: shared}
  - {reuse: shared}
  - {reuse: shared}
"""
# An embedding and the head tied to it (TylerYep/torchinfo#322): 64,000 parameters, not 128,000.
TIED = """
inputs: {tokens: {shape: [8], dtype: int64}}
layers:
  - {type: Embedding, num_embeddings: 1000, embedding_dim: 64, name: words}
  - {type: Linear, out_features: 1000, bias: false, tie: words}
"""
# A parameter of the container itself beside its layers (TylerYep/torchinfo#122): 14, not 12.
OWN = """
inputs: {x: {shape: [2]}}
layers:
  - {type: Linear, out_features: 4, name: leaf}
  - {type: Parameter, shape: [2], name: own}
outputs: [leaf]
"""


def counted(name: str, *overrides: str, text: str = "") -> Workload:
    described = open_network(name, overrides, io.BytesIO(text.encode()))
    return lower(described.network, Training(batch=1, training=False))


@pytest.mark.parametrize(
    ("name", "overrides", "flops", "parameters"),
    [
        ("swin_t", (), 8_981_133_312, 28_288_354),  # sovrasov/flops-counter.pytorch#142
        ("vit_b_16", (), 35_127_656_448, 86_567_656),  # ultralytics/thop#143
        ("efficientnet_b2", ("image=224",), 1_317_926_880, 9_109_994),  # facebookresearch/fvcore#42
        ("mixtral_8x7b", ("seq=2048",), 54_417_235_640_320, 46_702_792_704),  # DeepSpeed#3619
        ("deit_tiny_patch16_224", ("classes=2",), 2_506_983_168, 5_524_802),  # facebookresearch/fvcore#129
    ],
)
def test_networks(name: str, overrides: tuple[str, ...], flops: int, parameters: int) -> None:
    workload = counted(name, *overrides)
    assert (workload.forward_flops, workload.parameters) == (flops, parameters)


def test_a_layer_used_three_times_has_its_weights_once() -> None:
    workload = counted("-", text=ALIASES)
    assert workload.parameters == 10_000
    assert workload.forward_flops == 3 * 60_000


def test_a_tied_head_has_no_weights_of_its_own() -> None:
    assert counted("-", text=TIED).parameters == 64_000


def test_a_containers_own_parameter_counts() -> None:
    assert counted("-", text=OWN).parameters == 14
