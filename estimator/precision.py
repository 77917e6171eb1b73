"""Number formats, and the policies by which a framework chooses between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from estimator.registry import Registry


class DType(StrEnum):
    """A number format. TF32 is a way of multiplying, stored as 4-byte fp32."""

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    FP4 = "fp4"
    INT8 = "int8"
    INT32 = "int32"
    INT64 = "int64"
    BOOL = "bool"

    @property
    def itemsize(self) -> int:
        """Bytes one stored element takes (FP4, half a byte, is stored packed and counted as 1)."""
        return _ITEMSIZE[self]

    @property
    def is_floating(self) -> bool:
        """Whether gradients can flow through values of this format."""
        return self not in _INTEGERS


_ITEMSIZE = {
    DType.FP64: 8, DType.FP32: 4, DType.TF32: 4, DType.FP16: 2, DType.BF16: 2, DType.FP8: 1,
    DType.FP4: 1, DType.INT8: 1, DType.INT32: 4, DType.INT64: 8, DType.BOOL: 1,
}  # fmt: skip
HALVES = frozenset({DType.FP16, DType.BF16})
_INTEGERS = frozenset({DType.INT8, DType.INT32, DType.INT64, DType.BOOL})


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionPolicy:
    """How a training run uses number formats.

    ``weights`` is what parameters are stored in; ``product`` what matrix products and convolutions
    multiply in; ``activations`` what they write. ``autocast`` marks a policy that keeps fp32 weights
    and casts on the way into each product (torch.autocast); ``loss_scaling`` adds the unscale pass.
    ``masters`` is the format of the copies of the weights that the optimizer updates, None where it updates
    the weights themselves.
    """

    name: str
    weights: DType
    product: DType
    activations: DType
    autocast: bool = False
    loss_scaling: bool = False
    masters: DType | None = None
    description: str = ""


POLICIES: Registry[PrecisionPolicy] = Registry("precision")

for _policy in (
    PrecisionPolicy(name="fp64", weights=DType.FP64, product=DType.FP64, activations=DType.FP64,
                    description="double precision throughout"),
    PrecisionPolicy(name="fp32", weights=DType.FP32, product=DType.FP32, activations=DType.FP32,
                    description="single precision throughout, TF32 off"),
    PrecisionPolicy(name="tf32", weights=DType.FP32, product=DType.TF32, activations=DType.FP32,
                    description="fp32 storage, products on tensor cores with 10-bit mantissa"),
    PrecisionPolicy(name="fp16", weights=DType.FP16, product=DType.FP16, activations=DType.FP16,
                    description="pure half precision (.half())"),
    PrecisionPolicy(name="fp16-master", weights=DType.FP16, product=DType.FP16, activations=DType.FP16,
                    loss_scaling=True, masters=DType.FP32,
                    description="half precision throughout, fp32 copies of the weights updated (Apex O2)"),
    PrecisionPolicy(name="bf16", weights=DType.BF16, product=DType.BF16, activations=DType.BF16,
                    description="pure bfloat16"),
    PrecisionPolicy(name="amp", weights=DType.FP32, product=DType.FP16, activations=DType.FP16,
                    autocast=True, loss_scaling=True,
                    description="mixed precision: autocast to fp16 with loss scaling"),
    PrecisionPolicy(name="amp-unscaled", weights=DType.FP32, product=DType.FP16, activations=DType.FP16,
                    autocast=True,
                    description="autocast to fp16 without loss scaling, as runs that are only timed do"),
    PrecisionPolicy(name="amp-bf16", weights=DType.FP32, product=DType.BF16, activations=DType.BF16,
                    autocast=True, description="mixed precision: autocast to bfloat16"),
    PrecisionPolicy(name="fp8", weights=DType.BF16, product=DType.FP8, activations=DType.BF16,
                    description="products in fp8, the rest in bfloat16 (Transformer Engine)"),
):  # fmt: skip
    POLICIES.add(_policy.name, _policy)
