"""ATen operators to kernels: what each of PyTorch's operators launches on a GPU, and what it moves."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

from estimator.convert.torch_trace import tensors_in
from estimator.precision import DType
from estimator.workload.build import convolution, fused_attention, product, traffic
from estimator.workload.kernel import ConvShape, GemmShape, Op, Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.convert.torch_trace import Torch
    from estimator.precision import PrecisionPolicy
    from estimator.software import Software
    from estimator.workload.kernel import Kernel

_DTYPES = {
    "torch.float64": DType.FP64, "torch.float32": DType.FP32, "torch.float16": DType.FP16,
    "torch.bfloat16": DType.BF16, "torch.int64": DType.INT64, "torch.int32": DType.INT32,
    "torch.int8": DType.INT8, "torch.uint8": DType.INT8, "torch.bool": DType.BOOL,
}  # fmt: skip
_FREE = frozenset(
    {"detach", "alias", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided",
    "_unsafe_view",
     "_reshape_alias", "lift_fresh", "set_", "as_strided_", "resize_", "is_same_size",
     "_local_scalar_dense", "sym_size",
     "arange", "scalar_tensor"}
)  # fmt: skip
_FILLS = frozenset({"zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "zero_", "fill_",
                    "new_zeros",
                    "new_ones", "new_full", "zero", "fill"})  # fmt: skip
_TENSOR_CORE = frozenset({DType.FP16, DType.BF16, DType.TF32})


def dtype_of(tensor: Torch) -> DType:
    """Return our name of a tensor's number format."""
    return _DTYPES[str(tensor.dtype)]


def moved_bytes(tensor: Torch) -> int:
    """Return the bytes a kernel reads of a tensor: places that are read repeatedly count once."""
    own = prod(size for size, step in zip(tensor.shape, tensor.stride(), strict=True) if step)
    return own * tensor.element_size() if tensor.numel() else 0


class Context:
    """One operator with its arguments and results, and the settings that decide its kernels."""

    def __init__(
        self,
        args: Any,  # noqa: ANN401 - an operator's values
        kwargs: Any,  # noqa: ANN401
        out: Any,  # noqa: ANN401
        *,
        backward: bool,
        policy: PrecisionPolicy,
        software: Software,
    ) -> None:
        self.args = args
        self.kwargs = kwargs
        self.inputs = list(tensors_in((args, kwargs)))
        self.outputs = list(tensors_in(out))
        self.phase = Phase.DGRAD if backward else Phase.FORWARD
        self.policy = policy
        self.software = software

    def compute(self, tensor: Torch) -> DType:
        """Return the arithmetic of products of such tensors."""
        found = dtype_of(tensor)
        return DType.TF32 if found is DType.FP32 and self.policy.product is DType.TF32 else found

    def moved(
        self, name: str, op: Op, *, read: int | None = None, written: int | None = None, launches: int = 1,
        phase: Phase | None = None, elements: int | None = None,
    ) -> Kernel:  # fmt: skip
        """Return a kernel that reads all inputs and writes all outputs, unless said otherwise."""
        result = self.outputs[0] if self.outputs else self.inputs[0]
        return traffic(
            name, op, phase or self.phase, compute=dtype_of(result),
            read=sum(moved_bytes(t) for t in self.inputs) if read is None else read,
            written=sum(t.numel() * t.element_size() for t in self.outputs) if written is None else written,
            elements=elements or max(t.numel() for t in (*self.inputs, *self.outputs)),
            launches=launches,
        )  # fmt: skip


def size_of(tensor: Torch | None) -> int:
    """Return the bytes of a tensor's elements, 0 of none."""
    return 0 if tensor is None else tensor.numel() * tensor.element_size()


HANDLERS: dict[str, Callable[[str, Context], list[Kernel]]] = {}


def handles(
    *names: str,
) -> Callable[[Callable[[str, Context], list[Kernel]]], Callable[[str, Context], list[Kernel]]]:
    """Register what some operators launch."""

    def add(function: Callable[[str, Context], list[Kernel]]) -> Callable[[str, Context], list[Kernel]]:
        for name in names:
            HANDLERS[name] = function
        return function

    return add


def kernels(
    func: Any,  # noqa: ANN401 - an operator and its values
    args: Any,  # noqa: ANN401
    kwargs: Any,  # noqa: ANN401
    out: Any,  # noqa: ANN401
    *,
    backward: bool,
    policy: PrecisionPolicy,
    software: Software,
) -> list[Kernel]:
    """Return the kernels of one operator; views and allocations launch nothing."""
    name = func.overloadpacket.__name__
    if name in _FREE or func.is_view or not list(tensors_in(out)):
        return []
    context = Context(args, kwargs, out, backward=backward, policy=policy, software=software)
    if not any(t.numel() for t in context.outputs):
        return []
    if name in _FILLS:
        return [context.moved(name, Op.ELEMENTWISE, read=0)]
    if name in HANDLERS:
        return HANDLERS[name](name, context)
    import torch

    if torch.Tag.pointwise in func.tags or name.endswith(("_backward", "_")) or name in _POINTWISE:
        return [context.moved(name, Op.ELEMENTWISE)]
    return [context.moved(name, Op.CUSTOM)]


_POINTWISE = frozenset(
    {"bernoulli_", "bernoulli", "native_dropout", "masked_fill", "uniform_", "normal_", "where"}
)


@handles("_to_copy", "to")
def _cast(name: str, c: Context) -> list[Kernel]:
    return [c.moved("cast" if c.inputs[0].dtype != c.outputs[0].dtype else name, Op.ELEMENTWISE)]


@handles("clone")
def _clone(name: str, c: Context) -> list[Kernel]:
    same_order = c.inputs[0].stride() == c.outputs[0].stride()
    return [c.moved(name, Op.ELEMENTWISE if same_order else Op.COPY)]


@handles(
    "copy_", "contiguous", "_copy", "copy", "as_strided_copy", "roll", "flip", "repeat", "im2col", "col2im"
)
def _copy(name: str, c: Context) -> list[Kernel]:
    if name == "copy_":
        return [c.moved(name, Op.COPY, read=moved_bytes(c.inputs[-1]), written=size_of(c.inputs[0]))]
    return [c.moved(name, Op.COPY)]


@handles("cat", "stack")
def _concat(name: str, c: Context) -> list[Kernel]:
    return [c.moved(name, Op.CONCAT, read=sum(size_of(t) for t in c.inputs))]


@handles("constant_pad_nd", "reflection_pad2d", "replication_pad2d")
def _pad(name: str, c: Context) -> list[Kernel]:
    least = min(size_of(c.inputs[0]), size_of(c.outputs[0]))
    return [c.moved(name, Op.CONCAT, read=least)]


@handles("slice_backward", "select_backward", "diagonal_backward")
def _zero_filled(name: str, c: Context) -> list[Kernel]:
    grad, out = size_of(c.inputs[0]), size_of(c.outputs[0])
    return [c.moved(name, Op.CONCAT, read=grad, written=out + grad, launches=2)]


@handles("mm", "addmm")
def _mm(name: str, c: Context) -> list[Kernel]:
    *bias, a, b = c.inputs if name == "mm" else c.inputs[-3:]
    shape = GemmShape(1, a.shape[0], b.shape[1], a.shape[1])
    kernel = product(
        name, c.phase, shape, compute=c.compute(a), itemsize=a.element_size(),
        out_itemsize=c.outputs[0].element_size(), weight="b",
        bias_bytes=sum(moved_bytes(t) for t in bias),
    )  # fmt: skip
    return [kernel]


@handles("bmm", "baddbmm")
def _bmm(name: str, c: Context) -> list[Kernel]:
    a, b = c.inputs[-2:]
    shape = GemmShape(a.shape[0], a.shape[1], b.shape[2], a.shape[2])
    kernel = product(name, c.phase, shape, compute=c.compute(a), itemsize=a.element_size())
    read = moved_bytes(a) + moved_bytes(b) + sum(moved_bytes(t) for t in c.inputs[:-2])
    return [replace(kernel, bytes_read=read)]


def _conv_shape(x: Torch, weight: Torch, out: Torch, c: Context, first: int) -> ConvShape:
    stride, _, dilation, transposed, _, groups = c.args[first : first + 6]
    dims = x.dim() - 2
    return ConvShape(
        x.shape[0], x.shape[1], out.shape[1], groups, tuple(x.shape[2:]), tuple(out.shape[2:]),
        tuple(weight.shape[2:]), _each(stride, dims), _each(dilation, dims), transposed,
    )  # fmt: skip


def _each(values: Any, dims: int) -> tuple[int, ...]:  # noqa: ANN401 - a list of one or of all
    return tuple(values) * dims if len(values) == 1 else tuple(values)


def is_channels_last(tensor: Torch) -> bool:
    """Tell whether an image lies channels-last in memory."""
    return tensor.dim() in (4, 5) and not tensor.is_contiguous() and tensor.stride(1) == 1


def _passes(name: str, shape: ConvShape, *, x: Torch, out: Torch, phase: Phase, c: Context) -> list[Kernel]:
    """Return one pass of a convolution, wrapped in layout changes where the memory is channels-first."""
    kernel = convolution(name, phase, shape, compute=c.compute(x), itemsize=x.element_size())
    made = []
    last = is_channels_last(x) or is_channels_last(out)
    if c.compute(x) in _TENSOR_CORE and kernel.op is not Op.DEPTHWISE and not last:
        made = [
            traffic(
                "layout_transpose", Op.TRANSPOSE, phase, compute=dtype_of(t), read=size_of(t),
                written=size_of(t), elements=t.numel(), flops_per_element=0,
            )
            for t in (x, out)
        ]  # fmt: skip
    return [*made, kernel]


def _in_order(tensor: Torch, phase: Phase, *, image: bool = True) -> list[Kernel]:
    """Return the copy that an operator makes inside of an operand with gaps, or in an order it cannot take.

    ``image`` marks operators with kernels for channels-last memory.
    """
    if tensor.is_contiguous() or (image and is_channels_last(tensor) and _is_dense(tensor)):
        return []
    size = size_of(tensor)
    return [
        traffic(
            "contiguous", Op.COPY, phase, compute=dtype_of(tensor), read=size, written=size,
            elements=tensor.numel(), flops_per_element=0,
        )
    ]  # fmt: skip


def _is_dense(tensor: Torch) -> bool:
    step = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


@handles("convolution")
def _convolution(name: str, c: Context) -> list[Kernel]:
    x, weight, bias = c.args[:3]
    out = c.outputs[0]
    made = _in_order(x, Phase.FORWARD)
    made += _passes(name, _conv_shape(x, weight, out, c, 3), x=x, out=out, phase=Phase.FORWARD, c=c)
    if bias is not None:
        made.append(c.moved("bias", Op.ELEMENTWISE, read=size_of(out) + size_of(bias), elements=out.numel()))
    return made


@handles("convolution_backward")
def _convolution_backward(name: str, c: Context) -> list[Kernel]:
    grad, x, weight = c.args[:3]
    mask = c.args[-1]
    shape = _conv_shape(x, weight, grad, c, 4)
    made = [*_in_order(grad, Phase.DGRAD), *_in_order(x, Phase.DGRAD)]
    for wanted, phase in zip(mask, (Phase.DGRAD, Phase.WGRAD), strict=False):
        if wanted:
            made += _passes(name, shape, x=x, out=grad, phase=phase, c=c)
    if mask[2]:
        made.append(
            traffic(
                "bias_wgrad", Op.REDUCTION, Phase.WGRAD, compute=dtype_of(grad), read=size_of(grad),
                written=shape.c_out * grad.element_size(), elements=grad.numel(),
            )
        )  # fmt: skip
    return made


@handles("native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm", "_batch_norm_with_update")
def _batch_norm(name: str, c: Context) -> list[Kernel]:
    x, weight, bias = c.args[:3]
    read = 2 * size_of(x) + size_of(weight) + size_of(bias)
    kernel = c.moved(name, Op.BATCH_NORM, read=read, written=size_of(x), elements=x.numel())
    return [*_in_order(x, c.phase), kernel]


@handles("native_batch_norm_backward", "cudnn_batch_norm_backward", "batch_norm_backward")
def _batch_norm_backward(name: str, c: Context) -> list[Kernel]:
    grad, x, weight = c.args[:3]
    needs_input = c.args[-1][0]
    read = (4 if needs_input else 2) * size_of(x) + size_of(weight)
    written = size_of(x) if needs_input else 0
    kernel = c.moved(name, Op.BATCH_NORM, read=read, written=written, elements=x.numel())
    return [*_in_order(grad, c.phase), kernel]


@handles("native_layer_norm", "_fused_rms_norm", "native_group_norm")
def _layer_norm(name: str, c: Context) -> list[Kernel]:
    x = c.args[0]
    weights = sum(size_of(t) for t in c.inputs[1:])
    op = Op.GROUP_NORM if "group" in name else Op.LAYER_NORM
    kernel = c.moved(name, op, read=2 * size_of(x) + weights, written=size_of(x), elements=x.numel())
    return [*_in_order(x, c.phase, image=False), kernel]


@handles("native_layer_norm_backward", "_fused_rms_norm_backward")
def _layer_norm_backward(name: str, c: Context) -> list[Kernel]:
    grad, x, mask = c.args[0], c.args[1], c.args[-1]
    made = _in_order(grad, c.phase, image=False)
    weight = next((t for t in c.inputs[4 if "layer" in name else 3 :]), None)
    if mask[0]:
        read = 2 * size_of(x) + size_of(weight)
        made.append(c.moved(name, Op.LAYER_NORM, read=read, written=size_of(x), elements=x.numel()))
    if any(mask[1:]):
        written = sum(size_of(t) for t in c.outputs[1 if mask[0] else 0 :])
        made.append(
            c.moved(f"{name}_wgrad", Op.LAYER_NORM, read=2 * size_of(x), written=written, phase=Phase.WGRAD)
        )
    return made


@handles("native_group_norm_backward")
def _group_norm_backward(name: str, c: Context) -> list[Kernel]:
    grad, x, weight, needs_input = c.args[0], c.args[1], c.args[4], c.args[-1][0]
    read = (4 if needs_input else 2) * size_of(x) + size_of(weight)
    written = size_of(x) if needs_input else 0
    kernel = c.moved(name, Op.GROUP_NORM, read=read, written=written, elements=x.numel())
    return [*_in_order(grad, c.phase, image=False), kernel]


@handles("_softmax", "_log_softmax", "_safe_softmax", "_softmax_backward_data", "_log_softmax_backward_data")
def _softmax(name: str, c: Context) -> list[Kernel]:
    return [*_in_order(c.inputs[0], c.phase, image=False), c.moved(name, Op.SOFTMAX)]


@handles("sum", "mean", "amax", "amin", "max", "min", "argmax", "argmin", "var", "std",
         "linalg_vector_norm", "prod",
         "logsumexp", "cumsum", "any", "all", "norm")  # fmt: skip
def _reduction(name: str, c: Context) -> list[Kernel]:
    return [c.moved(name, Op.REDUCTION)]


@handles("nll_loss_forward", "nll_loss2d_forward")
def _nll(name: str, c: Context) -> list[Kernel]:
    x, target = c.inputs[:2]
    picked = target.numel() * x.element_size()
    return [c.moved(name, Op.REDUCTION, read=picked + size_of(target), elements=target.numel())]


@handles("nll_loss_backward", "nll_loss2d_backward")
def _nll_backward(name: str, c: Context) -> list[Kernel]:
    target = c.inputs[2]
    out = c.outputs[0]
    picked = target.numel() * out.element_size()
    return [c.moved(name, Op.ELEMENTWISE, read=size_of(target), written=size_of(out) + picked, launches=2)]


@handles("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d",
         "_adaptive_avg_pool2d",
         "_adaptive_avg_pool3d", "adaptive_max_pool2d", "upsample_nearest2d", "upsample_bilinear2d",
         "upsample_bicubic2d",
         "upsample_nearest1d", "upsample_linear1d", "upsample_trilinear3d", "upsample_nearest3d",
         "avg_pool1d")  # fmt: skip
def _pool(name: str, c: Context) -> list[Kernel]:
    return [*_in_order(c.inputs[0], c.phase), c.moved(name, Op.POOL)]


@handles("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", "avg_pool2d_backward",
         "avg_pool3d_backward", "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward",
         "adaptive_max_pool2d_backward", "upsample_nearest2d_backward", "upsample_bilinear2d_backward",
         "upsample_bicubic2d_backward", "upsample_nearest1d_backward", "upsample_linear1d_backward",
         "upsample_trilinear3d_backward", "upsample_nearest3d_backward")  # fmt: skip
def _pool_backward(name: str, c: Context) -> list[Kernel]:
    grad = c.inputs[0]
    indices = next((t for t in c.inputs if dtype_of(t) is DType.INT64), None)
    kernel = c.moved(name, Op.POOL, read=size_of(grad) + size_of(indices))
    return [*_in_order(grad, c.phase), kernel]


@handles("embedding", "index", "index_select", "gather")
def _gather(name: str, c: Context) -> list[Kernel]:
    out = c.outputs[0]
    indices = sum(size_of(t) for t in c.inputs if not t.is_floating_point())
    return [c.moved(name, Op.GATHER, read=size_of(out) + indices, elements=out.numel())]


@handles("embedding_dense_backward", "index_put", "index_put_", "scatter_add", "scatter_add_", "index_add",
         "_index_put_impl_", "index_add_", "_unsafe_index_put")  # fmt: skip
def _scatter(name: str, c: Context) -> list[Kernel]:
    values = c.inputs[0] if name == "embedding_dense_backward" else c.inputs[-1]
    indices = sum(size_of(t) for t in c.inputs if not t.is_floating_point())
    launches = 2 if name == "embedding_dense_backward" else 1
    return [c.moved(name, Op.SCATTER, read=size_of(values) + indices, launches=launches)]


@handles("grid_sampler_2d", "grid_sampler_3d")
def _grid_sampler(name: str, c: Context) -> list[Kernel]:
    x, grid = c.inputs
    out = c.outputs[0]
    return [c.moved(name, Op.POOL, read=_touched(x, out, c.args[2]) + size_of(grid))]


@handles("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def _grid_sampler_backward(name: str, c: Context) -> list[Kernel]:
    grad, x, grid = c.inputs
    read = size_of(grad) + _touched(x, grad, c.args[3]) + size_of(grid)
    launches = 1 + c.args[-1][0]  # zeros first, where the image has a gradient
    return [c.moved(name, Op.SCATTER, read=read, launches=launches)]


def _touched(x: Torch, out: Torch, mode: int) -> int:
    """Return the bytes of an image that sampled points read: their neighbours, or all of it."""
    dims = x.dim() - 2
    taps = {0: 2**dims, 1: 1, 2: 4**dims}[mode]
    return min(size_of(x), int(taps * out.numel() * x.element_size()))


@handles("_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention")
def _attention(name: str, c: Context) -> list[Kernel]:
    q, k, v = c.args[:3]
    return [_fused(name, Phase.FORWARD, (q, k, v), c)]


@handles("_scaled_dot_product_flash_attention_backward", "_scaled_dot_product_efficient_attention_backward")
def _attention_backward(name: str, c: Context) -> list[Kernel]:
    q, k, v = c.args[1:4]
    return [_fused(name, Phase.DGRAD, (q, k, v), c)]


def _fused(name: str, phase: Phase, operands: tuple[Torch, Torch, Torch], c: Context) -> Kernel:
    q, k, v = operands
    batch, heads, queries, depth = q.shape
    causal = next((a for a in c.args if isinstance(a, bool) and a and "flash" in name), False)
    keys = k.shape[2]
    share = (queries + 1) / 2 / keys if causal else 1.0
    return fused_attention(
        name, phase, GemmShape(batch * heads, queries, keys, depth), value_dim=v.shape[3],
        kv_batch=batch * k.shape[1], keys=keys, compute=c.compute(q), itemsize=q.element_size(),
        work_share=share,
    )  # fmt: skip
