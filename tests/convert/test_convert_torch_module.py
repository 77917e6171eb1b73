# ruff: noqa: ANN401 - torch is optional, so its modules and tensors have no types
# mypy: disable-error-code="misc"
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from estimator.catalog.yaml_reader import read_document
from estimator.convert.entries import Given
from estimator.convert.torch_module import convert
from estimator.convert.torch_trace import weightless
from estimator.convert.write import plain_network, yaml_text
from estimator.errors import InputError
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from estimator.convert.entries import Converted
    from estimator.networks.graph import Network

pytestmark = pytest.mark.torch
torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn
F: Any = torch.nn.functional
Module: Any = nn.Module


def network_of(converted: Converted, *, folded: bool = True) -> Network:
    return read_network(read_document(yaml_text(plain_network(converted, folded=folded)), "net.yaml"))


def forward_flops(network: Network, batch: int = 1) -> int:
    work = lower(network, Training(batch=batch))
    return sum(k.flops for layer in work.layers for k in layer.kernels if k.phase is Phase.FORWARD)


def torch_flops(module: Any, *shapes: tuple[int, ...], dtype: Any = None) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    inputs = [torch.empty((2, *shape), device="meta", dtype=dtype) for shape in shapes]
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module.requires_grad_(requires_grad=False)(*inputs)
    return int(counter.get_total_flops())


class Bottleneck(Module):
    def __init__(self, width_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.shortcut = None
        if stride != 1 or width_in != 4 * width:
            self.shortcut = nn.Sequential(
                nn.Conv2d(width_in, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x: Any) -> Any:
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += x if self.shortcut is None else self.shortcut(x)
        return F.relu(y)


def resnet() -> Any:
    with weightless():
        return nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
            Bottleneck(64, 64, 1), Bottleneck(256, 64, 1), Bottleneck(256, 64, 1),
            Bottleneck(256, 128, 2),
            Bottleneck(512, 128, 1), Bottleneck(512, 128, 1), Bottleneck(512, 128, 1),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10),
        )  # fmt: skip


def test_counts_of_a_converted_module_are_torchs_own() -> None:
    module = resnet()
    network = network_of(convert(module, [Given("image", (3, 64, 64))], name="resnet"))
    work = lower(network, Training(batch=2))
    assert work.parameters == sum(p.numel() for p in module.parameters())
    assert forward_flops(network, batch=2) == torch_flops(module, (3, 64, 64))


def test_folding_changes_no_count_and_reads_as_written_by_hand() -> None:
    converted = convert(resnet(), [Given("image", (3, 64, 64))], name="resnet")
    flat, folded = network_of(converted, folded=False), network_of(converted)
    kernels = [
        [k for layer in lower(n, Training(batch=2)).layers for k in layer.kernels] for n in (flat, folded)
    ]
    assert sorted(map(repr, kernels[0])) == sorted(map(repr, kernels[1]))
    text = yaml_text(plain_network(converted))
    assert "{type: bottleneck_2, repeat: 2, width: 64}" in text
    assert "{type: bottleneck_2, repeat: 3, width: 128}" in text
    assert "type: Residual" in text
    assert '"${4 * width}"' in text
    assert text.count("\n") < 50


def test_a_module_used_twice_has_its_weights_once() -> None:
    class Siamese(Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

        def forward(self, a: Any, b: Any) -> Any:
            return self.encoder(a) - self.encoder(b)

    with weightless():
        module = Siamese()
    network = network_of(convert(module, [Given("a", (8,)), Given("b", (8,))], name="siamese"))
    work = lower(network, Training(batch=1))
    assert work.parameters == 8 * 16 + 16 + 16 * 4 + 4
    assert work.forward_flops == 2 * 2 * (8 * 16 + 16 * 4)


def test_a_tied_weight_counts_once() -> None:
    class Tied(Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(50, 8)
            self.head = nn.Linear(8, 50, bias=False)
            self.head.weight = self.table.weight

        def forward(self, x: Any) -> Any:
            return self.head(self.table(x))

    with weightless():
        module = Tied()
    converted = convert(module, [Given("x", (6,), "int64")], name="tied")
    assert "tie: table" in yaml_text(plain_network(converted))
    assert lower(network_of(converted), Training(batch=1)).parameters == 50 * 8


def test_windows_that_mix_the_batch_are_written_relative_to_it() -> None:
    class Windows(Module):
        def __init__(self) -> None:
            super().__init__()
            self.proj = nn.Linear(16, 16)

        def forward(self, x: Any) -> Any:
            b = x.shape[0]
            x = x.permute(0, 2, 3, 1).view(b, 2, 4, 2, 4, 16).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, 16)
            x = self.proj(x)
            return x.view(b, 2, 2, 4, 4, 16).permute(0, 5, 1, 3, 2, 4).reshape(b, 16, 8, 8)

    with weightless():
        module = Windows()
    network = network_of(convert(module, [Given("x", (16, 8, 8))], name="windows"))
    for batch in (1, 5):
        work = lower(network, Training(batch=batch))
        assert work.layers[-1].output_shape == (batch, 16, 8, 8)
        assert work.forward_flops == batch * 64 * 2 * 16 * 16


def test_auxiliary_heads_run_in_training_only() -> None:
    class WithHead(Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head, self.aux = nn.Linear(8, 8), nn.Linear(8, 2), nn.Linear(8, 2)

        def forward(self, x: Any) -> Any:
            y = F.relu(self.body(x))
            return (self.head(y), self.aux(y)) if self.training else self.head(y)

    with weightless():
        module = WithHead()
    network = network_of(convert(module, [Given("x", (8,))], name="aux"))
    assert [node.training_only for node in network.nodes if node.layer.type_name == "Linear"] == [
        False, False, True,
    ]  # fmt: skip
    assert lower(network, Training(batch=1)).forward_flops == 2 * (64 + 16 + 16)
    assert lower(network, Training(batch=1, training=False)).forward_flops == 2 * (64 + 16)


def test_an_unknown_call_becomes_custom_with_measured_work_and_is_named() -> None:
    class Odd(Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(4, 8))

        def forward(self, x: Any) -> Any:
            return torch.chain_matmul(x, self.weight.t())

    with weightless():
        module = Odd()
    with pytest.warns(UserWarning, match="chain_matmul"):
        converted = convert(module, [Given("x", (8,))], name="odd")
    (gap,) = converted.gaps
    assert gap.function.startswith("torch.functional.chain_matmul")
    assert gap.flops == 2 * 8 * 4
    assert gap.bytes > 0
    assert lower(network_of(converted), Training(batch=3)).custom_layers


def test_attention_convolutions_with_computed_weights_and_einsum_are_exact() -> None:
    class Mixed(Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 16, 4, 4)
            self.qkv = nn.Linear(16, 48)
            self.bias = nn.Parameter(torch.zeros(1, 2, 16, 16))

        def forward(self, x: Any) -> Any:
            weight = self.conv.weight
            weight = (weight - weight.mean((1, 2, 3), keepdim=True)) / weight.std((1, 2, 3), keepdim=True)
            x = F.conv2d(x, weight, self.conv.bias, 4).flatten(2).transpose(1, 2)
            q, k, v = self.qkv(x).view(-1, 16, 3, 2, 8).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)
            return torch.einsum("bhnd,bhmd->bhnm", y, v).mean((1, 2))

    with weightless():
        module = Mixed()
    converted = convert(module, [Given("image", (3, 16, 16))], name="mixed")
    assert not converted.gaps
    network = network_of(converted)
    assert lower(network, Training(batch=2)).parameters == sum(p.numel() for p in module.parameters())
    assert forward_flops(network, batch=2) == torch_flops(module, (3, 16, 16))


class Rearranged(Module):
    """A list as index, a parameter repeated in front, constants of three a sample, padding that cuts."""

    def __init__(self) -> None:
        super().__init__()
        self.places, self.head = nn.Parameter(torch.zeros(5, 8)), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        x = F.pad(x, (-1, 1))[:, [2, 0, 1]]  # (N, 3, 8)
        made = torch.ones(3 * x.shape[0], 1, device=x.device) * x.reshape(-1, 8)
        many = self.places.unsqueeze(0).expand(3, -1, -1).reshape(15, 8)
        return self.head(torch.cat([made.reshape(-1, 3, 8), x], 1).sum(1) @ many.t() @ many)


def test_what_moves_values_by_lists_and_constants_leaves_no_gap() -> None:
    with weightless():
        module = Rearranged()
    converted = convert(module, [Given("x", (4, 8))], name="rearranged")
    assert not converted.gaps
    network = network_of(converted)
    assert lower(network, Training(batch=1)).parameters == 5 * 8 + 8 * 4 + 4
    assert forward_flops(network, batch=2) == torch_flops(module, (4, 8))


def test_recurrent_and_transformer_modules_become_their_layers() -> None:
    with weightless():
        lstm = nn.LSTM(8, 16, num_layers=2, bidirectional=True, batch_first=True)
        encoder = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    one = network_of(convert(lstm, [Given("x", (5, 8))], name="lstm"))
    assert [node.layer.type_name for node in one.nodes] == ["LSTM"]
    two = network_of(convert(encoder, [Given("x", (5, 16))], name="encoder"))
    assert "MultiheadAttention" in [node.layer.type_name for node in two.nodes]
    for network, module in ((one, lstm), (two, encoder)):
        work = lower(network, Training(batch=1))
        assert work.parameters == sum(p.numel() for p in module.parameters())


def test_a_forward_that_looks_at_values_is_refused() -> None:
    class Looks(Module):
        def forward(self, x: Any) -> Any:
            return x if float(x.sum()) > 0 else -x

    with pytest.raises(InputError, match="fails on the meta device"):
        convert(Looks(), [Given("x", (4,))], name="looks")


def test_a_forward_that_changes_with_the_batch_is_refused() -> None:
    class Changes(Module):
        def forward(self, x: Any) -> Any:
            return x.relu() if x.shape[0] > 2 else x.tanh()

    with pytest.raises(InputError, match="batch"):
        convert(Changes(), [Given("x", (4,))], name="changes")
