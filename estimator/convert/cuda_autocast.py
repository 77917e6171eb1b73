"""What torch.autocast does on CUDA, imitated on the meta device: its lists, applied to every PyTorch call."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from estimator.convert.torch_trace import import_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from estimator.convert.torch_trace import Torch

# PyTorch, aten/src/ATen/autocast_mode.h: AT_FORALL_LOWER_PRECISION_FP, AT_FORALL_FP32 (with
# AT_FORALL_FP32_SET_OPT_DTYPE) and AT_FORALL_PROMOTE, by the last word of a function's name.
LOWER = frozenset(
    {"conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
     "convolution", "prelu", "addmm", "addmv", "addr", "matmul", "__matmul__", "__rmatmul__", "einsum", "mm",
     "mv", "linear", "addbmm", "baddbmm", "bmm", "chain_matmul", "multi_dot", "scaled_dot_product_attention"}
)  # fmt: skip
FULL = frozenset(
    {"acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p", "reciprocal", "rsqrt",
     "sinh", "tan", "pow", "__pow__", "__rpow__", "softplus", "layer_norm", "group_norm", "norm",
     "cosine_similarity",
     "poisson_nll_loss", "cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss", "kl_div",
     "l1_loss", "smooth_l1_loss", "huber_loss", "mse_loss", "margin_ranking_loss", "multilabel_margin_loss",
     "soft_margin_loss", "triplet_margin_loss", "multi_margin_loss", "binary_cross_entropy_with_logits",
     "dist", "pdist", "cdist", "renorm", "logsumexp", "upsample_nearest1d", "upsample_nearest2d",
     "upsample_nearest3d", "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d",
     "upsample_linear1d", "softmax", "log_softmax", "cumprod", "cumsum", "prod", "sum", "rms_norm",
     "__rdiv__", "__rtruediv__", "cross_entropy_loss"}
)  # fmt: skip
PROMOTE = frozenset(
    {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sample", "index_put",
     "tensordot", "scatter_add", "cat", "stack"}
)  # fmt: skip


@contextmanager
def every_call(
    handle: Callable[[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any],
) -> Iterator[None]:
    """Hand every call of PyTorch's C++ functions to ``handle(name, function, args, kwargs)``.

    The Python functions of torch.nn.functional are run through, so that calls inside them are seen.
    """
    torch = import_torch()
    functional = torch.nn.functional
    checks = ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
    kept = {name: getattr(functional, name) for name in checks}

    class EveryCall(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(
            self,
            func: Callable[..., Any],
            types: object,
            args: tuple[Any, ...] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> object:
            name = getattr(func, "__name__", "")
            return handle(name, func, args, dict(kwargs or {}))

    def never(*_: object) -> bool:
        return False

    for name in checks:
        setattr(functional, name, never)
    try:
        with EveryCall():
            yield
    finally:
        for name, value in kept.items():
            setattr(functional, name, value)


class Autocast:
    """Casts the tensors among a call's arguments as the lists say; casts of weights are made once."""

    def __init__(self, dtype: Torch) -> None:
        self.torch = import_torch()
        self.dtype = dtype
        self._weights: dict[int, Torch] = {}

    def arguments(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """Return the arguments as autocast would pass them on."""
        word = name.rstrip("_") if name.endswith("_") and not name.endswith("__") else name
        if word in LOWER:
            return self._cast(args, self.dtype), self._cast(kwargs, self.dtype)
        if word in FULL and not (word == "sum" and kwargs.get("dtype")):
            return self._cast(args, self.torch.float32), self._cast(kwargs, self.torch.float32)
        if word in PROMOTE and self._widest((args, kwargs)):
            return self._cast(args, self.torch.float32), self._cast(kwargs, self.torch.float32)
        return args, kwargs

    def _widest(self, thing: Any) -> bool:  # noqa: ANN401 - arguments of any call
        """Tell whether both formats occur among the tensors."""
        from estimator.convert.torch_trace import tensors_in

        return len({t.dtype for t in tensors_in(thing) if t.is_floating_point()}) > 1

    def _cast(self, thing: Any, dtype: Torch) -> Any:  # noqa: ANN401 - arguments of any call
        if isinstance(thing, self.torch.Tensor):
            return self._one(thing, dtype)
        if isinstance(thing, (tuple, list)):
            return type(thing)(self._cast(item, dtype) for item in thing)
        if isinstance(thing, dict):
            return {key: self._cast(value, dtype) for key, value in thing.items()}
        return thing

    def _one(self, tensor: Torch, dtype: Torch) -> Torch:
        castable = (self.torch.float16, self.torch.bfloat16, self.torch.float32)
        if tensor.dtype not in castable or tensor.dtype == dtype:
            return tensor
        if not (tensor.is_leaf and tensor.requires_grad):
            return tensor.to(dtype)
        if id(tensor) not in self._weights:
            self._weights[id(tensor)] = tensor.to(dtype)
        return self._weights[id(tensor)]
