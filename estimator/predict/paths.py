"""Which of a device's units a class of kernels runs on, and their peak."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from estimator.errors import InputError
from estimator.precision import HALVES, DType
from estimator.predict.table import UNALIGNED

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Scale
    from estimator.predict.table import Category

_FALLBACK = {DType.TF32: DType.FP32, DType.BF16: DType.FP32, DType.FP16: DType.FP32}
_NVIDIA = "nvidia"  # whose fp16 vector units have no wider sum
_SCALED_BY = {"matrix": "matrix", "double": "double", "scarce": "double"}
_BESIDE_INTEGERS = 1 / 1.36  # 36 integer instructions to 100 floating-point ones (NVIDIA, Turing whitepaper)
# Products whose rows are no whole 16 bytes: cuBLAS has had kernels with matrix units for them since CUDA 11
# (docs.nvidia.com/cuda/cublas, "Tensor Core Usage"; Ampere needs that release), PyTorch since 1.7 of 2020.
# They load element by element; the rate a unit is fed at is from Lambda's Transformer-XL, whose 267,735 words
# make the largest product (decision 13).
_ALIGNED_ONLY_UNTIL, _AMPERE_YEAR = 2020, 2020
_UNALIGNED_FLOP_PER_CLOCK = 850.0
_FULL_DOUBLE = 0.2  # of the fp32 rate: less is a token number of fp64 units, easily kept busy


class Path(NamedTuple):
    """The units a product runs on, and their peak in FLOP/s.

    vector, matrix; half: vector units on half-precision data, summed in fp32; fp64 is double where it has
    units of its own, scarce where a few do it for checks. ``share`` of the peak is left where the integer
    work of a kernel takes turns with the products.
    """

    name: str
    peak: float
    share: float = 1.0

    def scale(self, scale: Scale) -> float:
        """Return what a group of devices attains on these units."""
        return float(getattr(scale, self.scaled_by))

    @property
    def scaled_by(self) -> str:
        """The field of a ``Scale`` that is for these units."""
        return _SCALED_BY.get(self.name, "compute")


def product_path(device: Device, dtype: DType) -> Path:
    """Return the faster way the device has to multiply in ``dtype``.

    fp16 and bf16 without units of their own are multiplied in fp32; TF32 on devices without it is fp32.
    So is fp16 on NVIDIA's vector units: what doubles their rate (HFMA2) sums in fp16, and frameworks ask
    for sums in fp32 (PyTorch: cublasGemmEx with CUDA_R_32F, cuDNN's convolutions with CUDNN_DATA_FLOAT).
    Raises InputError when the device has neither.
    """
    matrix = device.peaks.matrix.get(dtype, 0.0)
    vector = device.peaks.vector.get(dtype, 0.0)
    wider = _FALLBACK.get(dtype)
    if wider is not None:
        wide = device.peaks.vector.get(wider, 0.0)
        vector = wide if device.vendor == _NVIDIA and wide else max(vector, wide)
    if matrix <= 0 and vector <= 0:
        known = sorted({str(d) for d in (*device.peaks.vector, *device.peaks.matrix)})
        raise InputError(
            f"{device.name} has no {dtype} arithmetic", hint=f"it has {', '.join(known) or 'no known peaks'}"
        )
    if dtype is DType.FP64:
        full = vector >= _FULL_DOUBLE * device.peaks.vector.get(DType.FP32, 0.0)
        return Path("double" if full else "scarce", max(matrix, vector))
    lanes = _vector_path(device, vector)
    return Path("matrix", matrix) if matrix > lanes.peak * lanes.share else lanes


def _vector_path(device: Device, peak: float) -> Path:
    share = _BESIDE_INTEGERS if device.architecture.integers_share_lanes else 1.0
    return Path("vector", peak, share)


def path_of(device: Device, category: Category, era: int) -> Path:
    """Return the units a class of kernels runs on in the libraries of a year.

    Work on integers takes about as long as on fp32.
    """
    dtype = category.dtype if category.dtype.is_floating else DType.FP32
    if dtype in HALVES and (formats := vector_formats(category)):
        peak = max(device.peaks.vector.get(each, 0.0) for each in formats)
        if peak:
            return Path("half", peak)
    path = product_path(device, dtype)
    if is_unaligned(category) and path.name == "matrix" and device.vendor == _NVIDIA:
        return _unaligned_path(device, path, era)
    return path


def is_unaligned(category: Category) -> bool:
    """Tell whether the class is of products whose rows are no multiple of 16 bytes."""
    return category.kind.endswith(UNALIGNED)


def _unaligned_path(device: Device, path: Path, era: int) -> Path:
    year = device.architecture.year
    vector = device.peaks.vector.get(DType.FP32)
    if era <= _ALIGNED_ONLY_UNTIL and year is not None and year < _AMPERE_YEAR and vector:
        return _vector_path(device, vector)
    rate = path.peak / (device.units * device.clock_hz)
    return path._replace(share=path.share / (1.0 + rate / _UNALIGNED_FLOP_PER_CLOCK))


def vector_formats(category: Category) -> tuple[DType, ...]:
    """Return what a class whose half-precision kernels do without matrix units counts in; none for others.

    Depth-wise convolutions have no matrix to multiply, and sum in fp32. Dilated ones of a row (sound) are as
    fast in half precision as vector units are, in TF32 as matrix units (decision 11).
    """
    if category.kind.startswith("depthwise"):
        return (DType.FP32,)
    return (DType.FP16, DType.FP32) if category.kind == "conv.dilated" else ()
