"""Networks of the zoo as PyTorch modules, on the meta device: nothing is computed or allocated."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from estimator.app.prediction import lowered
from estimator.app.source import open_network
from estimator.catalog.networks import zoo
from estimator.hardware.architecture import DeviceKind

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::UserWarning")]

# One of each family, small ones of a family; all of them are built by make fuzz.
SOME = (
    "mlp_mnist", "cifar10_cnn", "resnet18", "mobilenet_v2", "vgg11", "lstm_lm", "gru_lm", "gpt2", "bert_base",
    "swin_t", "swin_v2_t", "densenet121", "efficientnet_b0", "shufflenet_v2_x0_5", "unet_bilinear", "dlrm",
    "transformer_base", "vit_b_32", "convnext_tiny", "regnet_y_400mf", "seq2seq_gru_luong",
)  # fmt: skip


def check(name: str) -> None:
    from estimator.measure.calls import node_calls
    from estimator.measure.inputs import random_inputs
    from estimator.measure.modules.graph import GraphModule

    described = open_network(name, (), io.BytesIO())
    run = lowered(described.network, replace(described.training, batch=2), DeviceKind.CPU)
    calls = node_calls(described.network, run.training)
    meta = torch.device("meta")
    with meta:
        graph = GraphModule(described.network, calls, run.training)
    inputs = random_inputs(described.network, run.training, calls, meta)
    assert sum(p.numel() for p in graph.parameters()) == run.workload.parameters
    loss = graph(*inputs)
    assert loss.dim() == 0
    loss.backward()
    assert any(p.grad is not None for p in graph.parameters())


@pytest.mark.parametrize("name", SOME)
def test_network_runs_with_the_parameters_of_its_description(name: str) -> None:
    check(name)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(zoo()) - set(SOME)))
def test_every_network_does(name: str) -> None:
    check(name)
