"""Layers beside the modules of PyTorch that they are named after: shapes, parameters, memory, launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from estimator.layers.base import record
from estimator.layers.library import LAYERS
from estimator.layers.tape import Setting, Signature
from estimator.precision import POLICIES, DType
from estimator.software import Software
from estimator.workload.kernel import Phase
from tests.layers.layers_shared import kept_by_torch

if TYPE_CHECKING:
    from estimator.layers.tape import Record

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:reduction:UserWarning")]

# Sizes that PyTorch wants to be told and that are inferred here.
SECOND, LAST = (lambda shape: shape[1]), (lambda shape: shape[-1])
INFERRED: dict[str, dict[str, Any]] = {
    **{f"Conv{d}d": {"in_channels": SECOND} for d in (1, 2, 3)},
    **{f"ConvTranspose{d}d": {"in_channels": SECOND} for d in (1, 2, 3)},
    **{f"{kind}Norm{d}d": {"num_features": SECOND} for kind in ("Batch", "Instance") for d in (1, 2, 3)},
    "Linear": {"in_features": LAST},
    "LayerNorm": {"normalized_shape": LAST},
    "RMSNorm": {"normalized_shape": LAST},
    "GroupNorm": {"num_channels": SECOND},
}

NAMES = [
    name
    for name in LAYERS
    if hasattr(torch.nn, name)
    and name != "SyncBatchNorm"  # PyTorch runs it on GPUs only
    and name
    not in {"Parameter", "MultiheadAttention", "GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"}
    and not name.startswith("Transformer")
]


def module(name: str) -> Any:  # noqa: ANN401 - torch is optional
    """Return the PyTorch module of a layer's example, on the CPU."""
    example = LAYERS.get(name).example
    extra = {key: size(example.shapes[0]) for key, size in INFERRED.get(name, {}).items()}
    if name == "Bilinear":
        extra = {"in1_features": example.shapes[0][-1], "in2_features": example.shapes[1][-1]}
    return getattr(torch.nn, name)(**(extra | dict(example.arguments)))


def inputs(name: str) -> list[Any]:
    example = LAYERS.get(name).example
    if example.dtype is DType.INT64:
        return [torch.zeros(shape, dtype=torch.int64) for shape in example.shapes]
    made = [torch.rand(shape) * 0.5 + 0.25 for shape in example.shapes]
    if name in {"CrossEntropyLoss", "NLLLoss"}:
        return [*made, torch.zeros(example.shapes[0][0], dtype=torch.int64)]
    if name.endswith("Loss"):
        return [*made, torch.rand(example.shapes[0])]
    return made


def ours(name: str, software: Software | None = None) -> Record:
    example = LAYERS.get(name).example
    layer = LAYERS.get(name)(**example.arguments)
    signatures = tuple(
        Signature(shape, example.dtype, requires_grad=example.dtype.is_floating) for shape in example.shapes
    )
    software = software or Software(era=2024)  # PyTorch's CPU runs the RMS norm un-fused
    return record(layer, signatures, Setting(policy=POLICIES.get("fp32"), software=software))


@pytest.mark.parametrize("name", NAMES)
def test_shape_and_parameters(name: str) -> None:
    theirs = module(name)
    out = theirs(*inputs(name))
    left = ours(name)
    assert left.outputs[0].shape == tuple(out.shape)
    assert sum(w.numel for w in left.weights) == sum(p.numel() for p in theirs.parameters())


# A buffer beside the input (LogSigmoid) and a place more than needed (EmbeddingBag), on CPUs only.
OTHER_MEMORY = {"LogSigmoid", "EmbeddingBag"}


@pytest.mark.parametrize("name", sorted(set(NAMES) - OTHER_MEMORY))
def test_kept_memory(name: str) -> None:
    theirs = module(name)
    given = [x.requires_grad_() if x.is_floating_point() and i < len(LAYERS.get(name).example.shapes) else x
             for i, x in enumerate(inputs(name))]  # fmt: skip
    kept = kept_by_torch(theirs, *given, besides=(*theirs.parameters(), *theirs.buffers()))
    assert sum(size for _, size in ours(name).saved) == kept


FREE = frozenset(
    {"detach", "view", "_unsafe_view", "t", "transpose.int", "permute", "unsqueeze", "squeeze.dim", "expand",
     "slice.Tensor", "select.int", "as_strided", "empty_like", "empty.memory_format", "new_empty", "alias",
     "split.Tensor", "unbind.int", "ones_like", "reshape", "scalar_tensor", "squeeze", "squeeze.dims",
     "lift_fresh", "as_strided_", "new_empty_strided"}
)  # fmt: skip


def dispatched(name: str) -> tuple[list[str], list[str]]:
    """Return the operators PyTorch dispatches on the meta device, forward and backward, without views."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.operators: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # noqa: ANN401
            self.operators.append(str(func).removeprefix("aten.").removesuffix(".default"))
            return func(*args, **(kwargs or {}))

    theirs = module(name).to("meta")
    count = len(LAYERS.get(name).example.shapes)
    given = [
        x.to("meta").requires_grad_() if x.is_floating_point() and i < count else x.to("meta")
        for i, x in enumerate(inputs(name))
    ]
    with Recorder() as recorder:
        out = theirs(*given)
        forward = len(recorder.operators)
        gradient = torch.ones_like(out)
        skipped = len(recorder.operators)
        out.backward(gradient)
    operators = recorder.operators
    return (
        [o for o in operators[:forward] if o not in FREE],
        [o for o in operators[skipped:] if o not in FREE],
    )


def launches(name: str) -> tuple[list[str], list[str]]:
    kernels = ours(name).kernels
    return (
        [k.name for k in kernels if k.phase is Phase.FORWARD],
        [k.name for k in kernels if k.phase is not Phase.FORWARD],
    )


# One operator of PyTorch is several kernels here, as on a GPU: losses with their reduction, convolutions
# with their bias and two gradients, the layer norm's two gradients, the trilinear form, circular padding.
SEVERAL = frozenset(name for name in NAMES if name.startswith(("Conv", "Circular"))) | {
    "BCELoss", "BCEWithLogitsLoss", "HuberLoss", "MSELoss", "SmoothL1Loss", "Bilinear", "LayerNorm",
}  # fmt: skip
# The meta device writes out what a GPU does in one kernel; Identity hands the gradient's copy to a leaf.
ONE = frozenset({"Dropout", "Mish", "Identity"})


@pytest.mark.parametrize("name", sorted(set(NAMES) - SEVERAL - ONE))
def test_launches_are_the_operators_that_pytorch_dispatches(name: str) -> None:
    (forward, backward), (our_forward, our_backward) = dispatched(name), launches(name)
    assert len(our_forward) == len(forward), (our_forward, forward)
    assert len(our_backward) == len(backward), (our_backward, backward)


@pytest.mark.parametrize("name", sorted(SEVERAL))
def test_operators_of_several_kernels_have_at_least_one_each(name: str) -> None:
    (forward, _), (our_forward, our_backward) = dispatched(name), launches(name)
    assert len(our_forward) >= len(forward)
    assert our_backward
