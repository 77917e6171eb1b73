"""Every layer type as a PyTorch module: it runs, and has the parameters and shapes of its record."""

from __future__ import annotations

from typing import Any

import pytest

from estimator.layers.base import record
from estimator.layers.library import LAYERS
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import AttentionKernel, Software

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:reduction:UserWarning"),
    pytest.mark.filterwarnings("ignore:LSTM with projections:UserWarning"),
]

from estimator.measure.modules.registry import Call, build  # noqa: E402 - needs PyTorch

# Examples beyond the registry's: what one argument changes in the module that is built.
MORE: list[tuple[str, dict[str, Any], tuple[tuple[int, ...], ...]]] = [
    ("MultiheadAttention", {"num_heads": 4, "style": "torch", "causal": True}, ((2, 10, 16),)),
    ("MultiheadAttention", {"num_heads": 4, "style": "torch"}, ((2, 10, 16), (2, 7, 16))),
    ("MultiheadAttention", {"num_heads": 4, "num_kv_heads": 2, "rope": True, "causal": True}, ((2, 10, 16),)),
    ("MultiheadAttention", {"num_heads": 4, "packed": False, "qk_norm": "rms"}, ((2, 10, 16),)),
    ("MultiheadAttention", {"num_heads": 4, "qk_norm": "layer", "window": 3}, ((2, 10, 16),)),
    ("MultiheadAttention", {"num_heads": 4, "position_bias": "relative", "mask": True}, ((2, 10, 16),)),
    ("MultiheadAttention", {"num_heads": 4, "add_bias_kv": True, "kernel": "math"}, ((2, 10, 16),)),
    ("MultiheadAttention", {"num_heads": 4}, ((2, 10, 16), (2, 7, 12), (2, 7, 8))),
    ("MultiheadAttention", {"num_heads": 4}, ((10, 16),)),
    ("ScaledDotProductAttention", {"causal": True, "kernel": "math"}, ((2, 4, 6, 8),) * 3),
    ("LSTM", {"hidden_size": 6, "bidirectional": True, "num_layers": 2, "proj_size": 4}, ((2, 5, 8),)),
    ("LSTM", {"hidden_size": 6, "fused": False, "num_layers": 2, "bidirectional": True}, ((2, 5, 8),)),
    ("GRU", {"hidden_size": 6, "fused": False}, ((2, 5, 8),)),
    ("RNN", {"hidden_size": 6, "fused": False, "nonlinearity": "relu"}, ((2, 5, 8),)),
    ("GRU", {"hidden_size": 6}, ((2, 5, 8), (1, 2, 6))),
    ("LSTMCell", {"hidden_size": 6}, ((2, 8), (2, 6), (2, 6))),
    ("GELU", {"approximate": "new"}, ((2, 8),)),
    ("GELU", {"approximate": "quick"}, ((2, 8),)),
    ("SwiGLU", {}, ((2, 8), (2, 8))),
    ("GatedMLP", {"hidden_features": 12, "packed": True, "bias": True}, ((2, 6, 8),)),
    ("MoE", {"num_experts": 4, "hidden_features": 12, "gated": False, "shared_features": 5}, ((2, 6, 8),)),
    ("WindowAttention", {"num_heads": 4, "window_size": 4, "shift_size": 2, "cosine": True},
     ((2, 9, 8, 16),)),
    ("WindowAttention", {"num_heads": 2, "window_size": (2, 4, 4), "shift_size": (1, 2, 2)},
     ((2, 4, 8, 8, 8),)),
    ("TransformerEncoderLayer", {"nhead": 4, "causal": True, "activation": "gelu"}, ((2, 10, 16),)),
    ("TransformerDecoderLayer", {"nhead": 4, "causal": True}, ((2, 10, 16), (2, 7, 16))),
    ("Cholesky", {"n": 5}, ((4, 3),)),
    ("MatVec", {"m": 5, "n": 3}, ((4, 3),)),
    ("ArgMax", {"dim": None}, ((4, 8, 6),)),
    ("MaxPool2d", {"kernel_size": 2, "return_indices": True}, ((2, 4, 8, 8),)),
    ("Parameter", {"shape": (3, 4), "per_sample": True}, ((5, 2),)),
    ("Conv2d", {"out_channels": 8, "kernel_size": 2, "padding": "same", "padding_mode": "reflect"},
     ((2, 4, 8, 8),)),
    ("StochasticDepth", {"p": 0.2, "mode": "batch"}, ((4, 8),)),
    ("EmbeddingBag", {"num_embeddings": 100, "embedding_dim": 8, "mode": "sum"}, ((12,), (4,))),
    ("Transformer", {"nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1, "causal": True},
     ((2, 7, 16), (2, 10, 16))),
]  # fmt: skip

EXAMPLES = [
    (name, dict(LAYERS.get(name).example.arguments), LAYERS.get(name).example.shapes) for name in LAYERS
]


def call_of(name: str, arguments: dict[str, Any], shapes: tuple[tuple[int, ...], ...]) -> Call:
    dtype = LAYERS.get(name).example.dtype
    inputs = tuple(Signature(s, dtype, requires_grad=dtype.is_floating) for s in shapes)
    setting = Setting(policy=POLICIES.get("fp32"), software=Software(attention=AttentionKernel.FLASH))
    layer = LAYERS.get(name)(**arguments)
    return Call(layer=layer, inputs=inputs, record=record(layer, inputs, setting), setting=setting)


def tensors(call: Call) -> list[Any]:
    if call.layer.example.dtype is DType.INT64:
        return [
            torch.zeros(s.shape, dtype=torch.int64) if i == 0 else torch.arange(s.shape[0])
            for i, s in enumerate(call.inputs)
        ]
    return [(torch.rand(s.shape, requires_grad=True) * 0.5 + 0.25) for s in call.inputs]


@pytest.mark.parametrize(
    ("name", "arguments", "shapes"), EXAMPLES + MORE, ids=lambda v: v if isinstance(v, str) else ""
)
def test_layer_runs_with_the_shapes_and_parameters_of_its_record(
    name: str, arguments: dict[str, Any], shapes: tuple[tuple[int, ...], ...]
) -> None:
    call = call_of(name, arguments, shapes)
    torch.manual_seed(0)
    module = build(call).train()
    out = module(*tensors(call))
    outputs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
    assert [tuple(o.shape) for o in outputs] == [o.shape for o in call.record.outputs]
    assert sum(p.numel() for p in module.parameters()) == sum(w.numel for w in call.record.weights)
    ends = [o for o in outputs if o.requires_grad]
    assert bool(ends) == any(o.requires_grad for o in call.record.outputs)
    if ends:
        sum(end.float().sum() for end in ends).backward()
        assert all(p.grad is not None for p in module.parameters())
