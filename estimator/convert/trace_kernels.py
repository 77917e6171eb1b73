"""The kernels of a PyTorch module's training step, traced on the meta device: no GPU, no weights.

Forward and backward run with shapes alone; every ATen operator that PyTorch would launch becomes a kernel
by the same constructors as those of our layers. This is the truth our layers are compared with.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from estimator.convert.aten_kernels import is_channels_last, kernels
from estimator.convert.cuda_autocast import Autocast, every_call
from estimator.convert.torch_trace import import_torch
from estimator.precision import DType
from estimator.software import AttentionKernel, Layout, Software

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.convert.torch_trace import Torch
    from estimator.precision import PrecisionPolicy
    from estimator.workload.kernel import Kernel

_TORCH_DTYPES = {DType.FP64: "float64", DType.FP32: "float32", DType.FP16: "float16", DType.BF16: "bfloat16"}


def trace_kernels(
    module: Torch,
    inputs: Sequence[Torch],
    policy: PrecisionPolicy,
    software: Software | None = None,
    *,
    loss: Callable[..., Torch] | None = None,
) -> list[Kernel]:
    """Return the kernels of forward and backward, in order.

    ``module`` and ``inputs`` are on the meta device; ``loss`` makes one number of the output (its sum if
    not given, which costs nothing backward). Layout, attention kernel and number formats are as the
    software and the policy say.
    """
    software = software or Software()
    torch = import_torch()
    module = module.to("meta").train()
    module = module.to(getattr(torch, _TORCH_DTYPES[policy.weights]))
    last = software.layout is Layout.CHANNELS_LAST
    module = module.to(memory_format=torch.channels_last if last else torch.contiguous_format)
    if last:
        inputs = [t.contiguous(memory_format=torch.channels_last) if t.dim() == _IMAGE else t for t in inputs]
    for parameter in module.parameters():
        parameter.grad = None  # a second gradient would be added to the first
    watcher = _Watcher(policy, software, {id(p) for p in module.parameters()})
    calls = _Calls(policy, software)
    with watcher.mode(), every_call(calls.handle):
        output = module(*inputs)
        result = loss(output) if loss else None
    with watcher.mode() if result is not None else nullcontext():
        watcher.backward = True
        if result is not None:
            result.backward(torch.empty_like(result))
        else:
            _backward_of(output, watcher)
    return watcher.kernels


_IMAGE = 4  # dimensions of an image batch


def _backward_of(output: Torch, watcher: _Watcher) -> None:
    """Run the backward from gradients that are simply given."""
    torch = import_torch()
    outputs = [output] if isinstance(output, torch.Tensor) else [t for t in output if t.requires_grad]
    gradients = [torch.empty_like(t) for t in outputs]
    with watcher.mode():
        torch.autograd.backward(outputs, gradients)


class _Calls:
    """What of PyTorch's functions must be led to the kernels that a GPU would run."""

    def __init__(self, policy: PrecisionPolicy, software: Software) -> None:
        self.torch = import_torch()
        self.software = software
        dtype = getattr(self.torch, _TORCH_DTYPES.get(policy.product, "float32"))
        self.autocast = Autocast(dtype) if policy.autocast else None

    def handle(self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
        """Run one call."""
        if self.autocast is not None:
            args, kwargs = self.autocast.arguments(name, args, kwargs)
        if name == "scaled_dot_product_attention":
            flash = self.software.attention is AttentionKernel.FLASH
            return (self._flash if flash else self._math)(*args, **kwargs)
        if name == "dropout" and len(args) > 2 and args[2] and args[1]:  # noqa: PLR2004 - input, p, train
            return self.torch.native_dropout(args[0], args[1], True)[0]  # noqa: FBT003 - its argument
        return function(*args, **kwargs)

    def _flash(  # noqa: PLR0917 - the signature of PyTorch
        self, q: Torch, k: Torch, v: Torch, attn_mask: Torch | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, **_: Any,  # noqa: ANN401, FBT001, FBT002 - the signature of PyTorch
    ) -> Torch:  # fmt: skip
        aten = self.torch.ops.aten
        if attn_mask is None:
            return aten._scaled_dot_product_flash_attention(q, k, v, dropout_p, is_causal)[0]  # noqa: SLF001
        return aten._scaled_dot_product_efficient_attention(  # noqa: SLF001 - takes a bias
            q,
            k,
            v,
            attn_mask.expand(*q.shape[:-1], k.shape[-2]),
            True,  # noqa: FBT003 - the backward follows
            dropout_p,
            is_causal,
        )[0]

    def _math(  # noqa: PLR0917 - the signature of PyTorch
        self, q: Torch, k: Torch, v: Torch, attn_mask: Torch | None = None, dropout_p: float = 0.0,
        is_causal: bool = False, **_: Any,  # noqa: ANN401, FBT001, FBT002 - the signature of PyTorch
    ) -> Torch:  # fmt: skip
        """Run products and softmax one by one, as PyTorch's math kernel and older model code do."""
        calls = self

        def run(name: str, function: Callable[..., Torch], *args: Any) -> Torch:  # noqa: ANN401
            return calls.handle(name, function, args, {})

        root = q.shape[-1] ** -0.25
        scores = run("matmul", self.torch.matmul, q * root, (k * root).transpose(-2, -1))
        if is_causal:
            attn_mask = self.torch.empty(q.shape[-2], k.shape[-2], device="meta", dtype=scores.dtype)
        if attn_mask is not None:
            scores = scores + attn_mask
        weights = run("softmax", self.torch.softmax, scores, -1)
        if dropout_p:
            weights = run("dropout", self.torch.dropout, weights, dropout_p, True)  # noqa: FBT003
        return run("matmul", self.torch.matmul, weights, v)


def _laid_out(func: Any, args: Any, out: Any) -> Any:  # noqa: ANN401 - an operator and its values
    """Return the results of a convolution channels-last where cuDNN's are: if input or weight lie so."""
    name = func.overloadpacket.__name__
    if name not in ("convolution", "convolution_backward"):
        return out
    torch = import_torch()
    operands = args[:2] if name == "convolution" else args[:3]
    if not any(is_channels_last(t) for t in operands):
        return out
    if isinstance(out, torch.Tensor):
        return _reordered(torch, out)
    return (_reordered(torch, out[0]), *out[1:])


def _reordered(torch: Torch, tensor: Torch) -> Torch:
    if tensor is None or tensor.dim() != _IMAGE:
        return tensor
    return torch.empty_like(tensor, memory_format=torch.channels_last)


class _Watcher:
    """Collects kernels of the operators that run."""

    def __init__(self, policy: PrecisionPolicy, software: Software, weights: set[int]) -> None:
        self.policy = policy
        self.software = software
        self.weights = weights
        self.kernels: list[Kernel] = []
        self.backward = False

    def mode(self) -> Torch:
        """Return the context to run in."""
        from torch.utils._python_dispatch import TorchDispatchMode

        watcher = self

        class Watching(TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(
                self,
                func: Any,  # noqa: ANN401 - an operator
                types: object,
                args: Any = (),  # noqa: ANN401
                kwargs: Any = None,  # noqa: ANN401
            ) -> object:
                out = _laid_out(func, args, func(*args, **(kwargs or {})))
                watcher.add(func, args, kwargs or {}, out)
                return out

        return Watching()

    def add(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:  # noqa: ANN401
        """Keep the kernels of one operator."""
        self.kernels.extend(
            kernels(
                func, args, kwargs, out, backward=self.backward, policy=self.policy, software=self.software
            )
        )
