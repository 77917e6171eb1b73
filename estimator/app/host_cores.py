"""The architecture of a detected core: the catalogue's, or one made of the width and pipes that were seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.catalog.lookup import load_architecture
from estimator.errors import InputError
from estimator.hardware.architecture import Architecture, DeviceKind
from estimator.precision import DType
from estimator.provenance import Basis, Provenance

if TYPE_CHECKING:
    from estimator.detect.facts import CoreGroup, CpuFacts

_FP32_BITS = 32


def architecture_of(cpu: CpuFacts, group: CoreGroup | None = None) -> Architecture | None:
    """Return the architecture of a CPU's cores, or of one of its kinds; None where the width is not known.

    One pipe is assumed where the number is not known and the catalogue has parts with one.
    """
    design = group or cpu
    microarchitecture, bits, pipes = design.microarchitecture, design.simd_bits, design.fma_pipes
    known = _catalogued(microarchitecture, bits, pipes)
    if known is not None or bits is None:
        return known
    assumed = pipes is None
    lanes = (pipes or 1) * bits // _FP32_BITS
    basis = Basis.ASSUMED if assumed else Basis.DETECTED
    return Architecture(
        id=microarchitecture or "detected-cpu",
        name=design.microarchitecture_name or f"CPU with {bits}-bit SIMD",
        vendor=cpu.vendor or "unknown",
        kind=DeviceKind.CPU,
        unit_name="core",
        lanes_per_unit=lanes,
        vector={DType.FP32: lanes, DType.FP64: lanes / 2},
        simd_bits=bits,
        fma_pipes=pipes or 1,
        has_fma=cpu.has_fma is not False,
        provenance={"vector": Provenance("SIMD width x FMA pipes", basis)},
    )


def pipes_assumed(architecture: Architecture) -> bool:
    """Say whether the number of FMA pipes was assumed here."""
    vector = architecture.provenance.get("vector")
    return vector is not None and vector.basis is Basis.ASSUMED


def _catalogued(microarchitecture: str | None, bits: int | None, pipes: int | None) -> Architecture | None:
    """Return the catalogue's architecture of that width and rate.

    A design that was made with one pipe too stands there twice, as NAME and as NAME-1fma: where the number
    of pipes is not known neither is taken.
    """
    if microarchitecture is None:
        return None
    one_pipe = _loaded(f"{microarchitecture}-1fma")
    if pipes is None and one_pipe is not None and one_pipe.simd_bits == bits:
        return None
    for known in (_loaded(microarchitecture), one_pipe):
        if known is not None and (bits is None or known.simd_bits == bits):
            lanes = None if bits is None or pipes is None else bits * pipes // _FP32_BITS
            if lanes in {None, known.lanes_per_unit}:
                return known
    return None


def _loaded(name: str) -> Architecture | None:
    try:
        return load_architecture(name)
    except InputError:
        return None
