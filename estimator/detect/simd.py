"""How wide the vectors of a core are, and how many multiply-adds it starts in a clock."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from estimator.detect.ledger import Ledger
    from estimator.detect.uarch_facts import Microarchitecture

FP32_BITS = 32
_AVX512_BITS, _AVX_BITS, _SSE_BITS = 512, 256, 128
# One of the two FMA pipes of a core that was sold with one or with two 512-bit pipes, by its name.
# https://github.com/jeffhammond/vpu-count and Intel's product pages (ark.intel.com, "# of AVX-512 FMA
# Units": 2 for every Core X and every Xeon W-2100, 2200, 3100 and 3200).
_TWO_PIPES = re.compile(
    r"Platinum|Gold\s+6\d{3}|Gold\s+5[12]22|Core.*i[79]-(?:7[89]|9[89]|109)\d\dX|Xeon.*W-[23][12]\d\d",
    re.IGNORECASE,
)
_ONE_PIPE = re.compile(r"Bronze|Silver|Gold\s+5[12]\d\d", re.IGNORECASE)
_SKU_DESIGNS = frozenset({"skylake-x", "cascade-lake", "cooper-lake"})
# Flags worth showing, in this order.
_SHOWN = (
    "sse2", "sse4_2", "avx", "f16c", "fma", "fma4", "avx2", "avx512f", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16", "neon", "asimd", "asimdhp",
    "asimddp", "bf16", "i8mm", "sve", "sve2", "sme",
)  # fmt: skip


class Vectors(NamedTuple):
    """Widths in bits and pipes of one core; None is "not known"."""

    register_bits: int | None
    simd_bits: int | None
    fma_pipes: int | None
    has_fma: bool | None

    @property
    def lanes_per_core(self) -> int | None:
        """fp32 multiply-adds a core starts in a clock."""
        if self.simd_bits is None or self.fma_pipes is None:
            return None
        return self.simd_bits * self.fma_pipes // FP32_BITS


def shown_flags(flags: frozenset[str]) -> tuple[str, ...]:
    """Return the instruction sets that matter to a neural network, in order of age."""
    return tuple(flag for flag in _SHOWN if flag in flags)


def register_bits(flags: frozenset[str], sve_bits: int | None) -> int | None:
    """Return the widest vector register the flags allow, None where no flag speaks of vectors."""
    if "avx512f" in flags:
        return _AVX512_BITS
    if "avx" in flags:
        return _AVX_BITS
    if sve_bits and "sve" in flags:
        return sve_bits
    if flags & {"sse2", "asimd", "neon", "altivec"}:
        return _SSE_BITS
    return None


def vectors(
    design: Microarchitecture | None,
    flags: frozenset[str],
    *,
    sve_bits: int | None,
    model_name: str | None,
    ledger: Ledger,
) -> Vectors:
    """Return widths and pipes of a core: what the design can do under the instruction sets it shows."""
    seen = register_bits(flags, sve_bits)
    if design is None:
        if seen is not None:
            _pipes_unknown(ledger, "the core design is not known", seen)
        return Vectors(seen, seen, None, _has_fma(flags, None))
    fma = _has_fma(flags, design)
    # A scalable vector whose length nobody tells is as long as the design's.
    unsaid = "sve" in flags and sve_bits is None
    registers = (None if unsaid else seen) or _design_registers(design)
    simd = (
        min(design.datapath_bits, registers) if design.datapath_bits and registers else design.datapath_bits
    )
    pipes = _pipes(design, simd, model_name)
    if pipes is not None and design.has_fma and fma is False:
        # Hidden FMA: the pipes then take an add or a multiply each, half the FLOPs.
        pipes = max(1, pipes // 2)
    if pipes is None and simd is not None:
        _pipes_unknown(ledger, f"{design.name} was made with one or two" if design.id in _SKU_DESIGNS else
                       f"no public figure is recorded for {design.name}", simd)  # fmt: skip
    return Vectors(registers, simd or seen, pipes, fma)


def _design_registers(design: Microarchitecture) -> int | None:
    """Return the registers of a design where no flag is visible (a stripped /proc/cpuinfo)."""
    if "avx512f" in design.isa:
        return _AVX512_BITS
    return _AVX_BITS if "avx" in design.isa else design.datapath_bits


def _pipes(design: Microarchitecture, simd: int | None, model_name: str | None) -> int | None:
    if simd == _AVX512_BITS and design.id in _SKU_DESIGNS:
        name = model_name or ""
        return 2 if _TWO_PIPES.search(name) else 1 if _ONE_PIPE.search(name) else None
    return design.pipes.get(simd or 0)


def _has_fma(flags: frozenset[str], design: Microarchitecture | None) -> bool | None:
    """Say whether a multiply-add is one instruction; Arm's vector unit always has it, x86 shows a flag."""
    if flags & {"fma", "fma4", "asimd", "sve", "vfpv4"}:
        return True
    if "sse2" in flags:
        return False
    return design.has_fma if design is not None else None


def _pipes_unknown(ledger: Ledger, why: str, bits: int) -> None:
    ledger.finding(
        f"number of {bits}-bit FMA pipes a core not known",
        f"{why}, and CPUID does not tell",
        "run the probe: the attained matrix rate shows it",
    )
