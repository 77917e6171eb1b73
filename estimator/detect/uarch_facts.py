"""What one core of each CPU microarchitecture does in a clock: data path, FMA pipes, instruction sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# Instruction sets that tell microarchitectures apart, as Linux names them.
TELLING = frozenset(
    {
        "avx", "fma", "fma4", "avx2", "avx512f", "avx512er", "avx512_vnni", "avx512_vbmi2", "avx512_bf16",
        "avx512_fp16", "amx_tile", "amx_fp16",
    }
)  # fmt: skip

_NONE: frozenset[str] = frozenset()
_AVX = frozenset({"avx"})
_AVX2 = frozenset({"avx", "fma", "avx2"})
_BULLDOZER = frozenset({"avx", "fma4"})
_PILEDRIVER = frozenset({"avx", "fma4", "fma"})
_EXCAVATOR = frozenset({"avx", "fma4", "fma", "avx2"})
_SKX = _AVX2 | {"avx512f"}
_KNL = _SKX | {"avx512er"}
_CLX = _SKX | {"avx512_vnni"}
_CPX = _CLX | {"avx512_bf16"}
_ICL = _CLX | {"avx512_vbmi2"}
_ZEN4 = _ICL | {"avx512_bf16"}
_SPR = _ZEN4 | {"avx512_fp16", "amx_tile"}
_GNR = _SPR | {"amx_fp16"}
# The first Alder Lakes could switch AVX-512 on with the efficiency cores off.
_ADL = _ZEN4 | {"avx512_fp16"}

_FOG = "https://stackoverflow.com/questions/15655835"
_VPU = "https://github.com/jeffhammond/vpu-count"
_ARCHSPEC = "https://github.com/archspec/archspec"
_HOT_CHIPS = "Hot Chips 2024 presentation of the core"
_ARM = "Arm software optimization guide of the core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Microarchitecture:
    """One core design.

    ``datapath_bits`` is the widest vector one pipe starts in a clock; ``pipes`` maps a vector width to the
    FMA pipes that take it (to pairs of an adder and a multiplier where ``has_fma`` is false). A width that
    is missing is not known. ``isa`` is which of the `TELLING` sets the design can have (x86 only).
    ``server`` says in which of the two markets a design sits, where one instruction set has both.
    """

    id: str
    name: str
    vendor: str
    datapath_bits: int | None = None
    pipes: Mapping[int, int] = field(default_factory=dict)
    has_fma: bool = True
    isa: frozenset[str] = _NONE
    efficiency: bool = False
    server: bool | None = None
    matrix_unit: str | None = None
    source: str = ""


def _sse(name: str, title: str, vendor: str, pipes: int | None = 1) -> Microarchitecture:
    """Build a design with 128-bit vectors, an adder and a multiplier, no FMA."""
    known = {} if pipes is None else {128: pipes}
    return Microarchitecture(
        id=name, name=title, vendor=vendor, datapath_bits=128, pipes=known, has_fma=False, source=_FOG
    )


def _wide(name: str, title: str, isa: frozenset[str], **more: object) -> Microarchitecture:
    """Build an Intel design with two 256-bit FMA pipes."""
    facts: dict[str, object] = {"datapath_bits": 256, "pipes": {128: 2, 256: 2}, "source": _FOG, **more}
    return Microarchitecture(id=name, name=title, vendor="Intel", isa=isa, **facts)  # type: ignore[arg-type]


def _fused(name: str, title: str, isa: frozenset[str] = _ICL) -> Microarchitecture:
    """Build a client design whose two 256-bit pipes fuse into one of 512."""
    pipes = {128: 2, 256: 2, 512: 1}
    return _wide(name, title, isa, datapath_bits=512, pipes=pipes, server=False, source=_VPU)


def _server(name: str, title: str, isa: frozenset[str], matrix: str | None = None) -> Microarchitecture:
    """Build a Xeon design with two 512-bit FMA pipes."""
    return _wide(
        name, title, isa, datapath_bits=512, pipes={128: 2, 256: 2, 512: 2}, server=True, matrix_unit=matrix,
        source=_VPU,
    )  # fmt: skip


def _by_sku(name: str, title: str, isa: frozenset[str]) -> Microarchitecture:
    """Build a Xeon design that was sold with one or with two 512-bit pipes: CPUID does not say which."""
    return _wide(name, title, isa, datapath_bits=512, server=True, source=_VPU)


def _atom(name: str, title: str, isa: frozenset[str] = _AVX2, pipes: int = 2) -> Microarchitecture:
    """Build an Intel efficiency core: 128-bit pipes under 256-bit registers."""
    return _wide(name, title, isa, datapath_bits=128, pipes={128: pipes}, efficiency=True)


def _zen(name: str, title: str, bits: int, isa: frozenset[str], source: str = _FOG) -> Microarchitecture:
    """Build an AMD Zen design: two FMA pipes of ``bits``."""
    pipes = {width: 2 for width in (128, 256, 512) if width <= bits}
    return Microarchitecture(
        id=name, name=title, vendor="AMD", datapath_bits=bits, pipes=pipes, isa=isa, source=source
    )


def _bulldozer(name: str, title: str, isa: frozenset[str]) -> Microarchitecture:
    """Build an AMD module design: two 128-bit FMA pipes shared by two cores, so one a core."""
    return Microarchitecture(
        id=name, name=title, vendor="AMD", datapath_bits=128, pipes={128: 1}, isa=isa, source=_FOG
    )


def _arm(
    name: str, title: str, pipes: int | None, *, vendor: str = "Arm", bits: int = 128, small: bool = False,
    matrix: str | None = None, source: str = _ARM,
) -> Microarchitecture:  # fmt: skip
    """Build an Arm design with ``pipes`` FMA pipes of ``bits``."""
    return Microarchitecture(
        id=name, name=title, vendor=vendor, datapath_bits=bits, pipes={} if pipes is None else {bits: pipes},
        efficiency=small, matrix_unit=matrix, source=source,
    )  # fmt: skip


def _apple(
    name: str, title: str, pipes: int, *, small: bool = False, matrix: str = "amx"
) -> Microarchitecture:
    return _arm(
        name, title, pipes, vendor="Apple", small=small, matrix=matrix,
        source="https://github.com/corsix/amx; https://dougallj.github.io/applecpu/firestorm.html",
    )  # fmt: skip


_ALL = (
    _sse("core2", "Core 2", "Intel"),
    _sse("nehalem", "Nehalem", "Intel"),
    _sse("westmere", "Westmere", "Intel"),
    _wide("sandy-bridge", "Sandy Bridge", _AVX, pipes={128: 1, 256: 1}, has_fma=False),
    _wide("ivy-bridge", "Ivy Bridge", _AVX, pipes={128: 1, 256: 1}, has_fma=False),
    _wide("haswell", "Haswell", _AVX2),
    _wide("broadwell", "Broadwell", _AVX2),
    _wide("skylake", "Skylake (client)", _AVX2),
    _by_sku("skylake-x", "Skylake-SP / Skylake-X", _SKX),
    _by_sku("cascade-lake", "Cascade Lake", _CLX),
    _by_sku("cooper-lake", "Cooper Lake", _CPX),
    # Cannon Lake's one 512-bit pipe is fused, as in its successor.
    _fused("cannon-lake", "Cannon Lake", _SKX),
    _fused("ice-lake", "Ice Lake (client)"),
    _fused("tiger-lake", "Tiger Lake"),
    _fused("rocket-lake", "Rocket Lake"),
    _server("ice-lake-sp", "Ice Lake-SP", _ICL),
    _server("sapphire-rapids", "Sapphire Rapids", _SPR, "amx"),
    _server("emerald-rapids", "Emerald Rapids", _SPR, "amx"),
    _server("granite-rapids", "Granite Rapids", _GNR, "amx"),
    _wide("golden-cove", "Golden Cove (Alder Lake)", _ADL),
    _wide("raptor-cove", "Raptor Cove (Raptor Lake)", _AVX2),
    _wide("redwood-cove", "Redwood Cove (Meteor Lake)", _AVX2),
    _wide("lion-cove", "Lion Cove (Arrow Lake, Lunar Lake)", _AVX2),
    _sse("bonnell", "Bonnell (Atom)", "Intel", None),
    _sse("silvermont", "Silvermont (Atom)", "Intel", None),
    _sse("goldmont", "Goldmont (Atom)", "Intel", None),
    _sse("tremont", "Tremont (Atom)", "Intel", None),
    _atom("gracemont", "Gracemont"),
    _atom("crestmont", "Crestmont"),
    _atom("sierra-forest", "Crestmont (Sierra Forest)"),
    _atom("skymont", "Skymont", pipes=4),
    Microarchitecture(
        id="knights-landing", name="Knights Landing / Knights Mill", vendor="Intel", datapath_bits=512,
        pipes={128: 2, 256: 2, 512: 2}, isa=_KNL, server=True,
        source=_ARCHSPEC + " (mic_knl)",
    ),
    Microarchitecture(id="k8", name="K8", vendor="AMD", datapath_bits=64, has_fma=False, source=_FOG),
    _sse("k10", "K10", "AMD"),
    _sse("bobcat", "Bobcat", "AMD", None),
    Microarchitecture(
        id="jaguar", name="Jaguar / Puma", vendor="AMD", datapath_bits=128, pipes={128: 1}, has_fma=False,
        isa=_AVX, source=_FOG,
    ),
    _bulldozer("bulldozer", "Bulldozer", _BULLDOZER),
    _bulldozer("piledriver", "Piledriver", _PILEDRIVER),
    _bulldozer("steamroller", "Steamroller", _PILEDRIVER),
    _bulldozer("excavator", "Excavator", _EXCAVATOR),
    _zen("zen", "Zen", 128, _AVX2),
    _zen("zen-plus", "Zen+", 128, _AVX2),
    _zen("zen2", "Zen 2", 256, _AVX2),
    _zen("zen3", "Zen 3", 256, _AVX2),
    _zen("zen4", "Zen 4", 256, _ZEN4, _ARCHSPEC + " (zen4)"),
    _zen("zen5", "Zen 5", 512, _ZEN4, _ARCHSPEC + " (zen5)"),
    _zen("zen5-mobile", "Zen 5 (mobile)", 256, _ZEN4, _HOT_CHIPS),
    Microarchitecture(
        id="zen6", name="Zen 6", vendor="AMD", isa=_ADL, source=_ARCHSPEC + " (zen6)"
    ),
    _zen("dhyana", "Dhyana (Zen)", 128, _AVX2),
    _arm("arm1176", "ARM1176", None, bits=64),
    *(_arm(f"cortex-a{n}", f"Cortex-A{n}", None, bits=64, small=n in {5, 7}) for n in (5, 7, 8, 9, 15, 17)),
    _arm("cortex-a35", "Cortex-A35", None, bits=64, small=True),
    # A 128-bit multiply-add takes the 64-bit pipe twice: 4 FLOPs a clock.
    _arm("cortex-a53", "Cortex-A53", 1, bits=64, small=True),
    _arm("cortex-a55", "Cortex-A55", 1, small=True),
    _arm("cortex-a510", "Cortex-A510", None, small=True),
    _arm("cortex-a520", "Cortex-A520", None, small=True),
    _arm("cortex-a57", "Cortex-A57", None),
    _arm("cortex-a72", "Cortex-A72", 1, source=_ARCHSPEC + " (cortex_a72)"),
    _arm("cortex-a73", "Cortex-A73", None),
    _arm("cortex-a75", "Cortex-A75", None),
    *(_arm(f"cortex-a{n}", f"Cortex-A{n}", 2) for n in (76, 77, 78, 710, 715, 720, 725)),
    *(_arm(f"cortex-x{n}", f"Cortex-X{n}", 4) for n in (1, 2, 3, 4)),
    _arm("cortex-x925", "Cortex-X925", 6),
    _arm("neoverse-n1", "Neoverse N1", 2, source="https://github.com/microsoft/onnxruntime/issues/10038"),
    _arm("neoverse-n2", "Neoverse N2", 2, source="https://github.com/flame/blis/issues/641"),
    _arm("neoverse-n3", "Neoverse N3", 2),
    # Two SVE pipes of 256 bits or four NEON pipes of 128: 16 fp32 lanes either way.
    Microarchitecture(
        id="neoverse-v1", name="Neoverse V1", vendor="Arm", datapath_bits=256, pipes={128: 4, 256: 2},
        source="https://github.com/flame/blis/issues/641",
    ),
    _arm("neoverse-v2", "Neoverse V2", 4, source="https://github.com/libxsmm/libxsmm/issues/863"),
    _arm("neoverse-v3", "Neoverse V3", 4),
    _arm("a64fx", "A64FX", 2, vendor="Fujitsu", bits=512, source="https://github.com/fujitsu/A64FX"),
    _arm("ampereone", "AmpereOne", 2, vendor="Ampere", source=_ARCHSPEC + " (ampere1)"),
    _arm("thunderx", "ThunderX", None, vendor="Cavium"),
    _arm("thunderx2", "ThunderX2", 2, vendor="Cavium", source=_ARCHSPEC + " (thunderx2)"),
    _arm("tsv110", "Kunpeng 920 (TaiShan V110)", None, vendor="HiSilicon"),
    _arm("denver2", "Denver 2", None, vendor="NVIDIA"),
    _arm("carmel", "Carmel", None, vendor="NVIDIA"),
    _arm("olympus", "Olympus", None, vendor="NVIDIA"),
    _arm("oryon", "Oryon", 4, vendor="Qualcomm", source=_HOT_CHIPS),
    _arm("kryo", "Kryo", None, vendor="Qualcomm"),
    _apple("apple-m1", "Firestorm (M1)", 4),
    _apple("apple-m2", "Avalanche (M2)", 4),
    _apple("apple-m3", "Everest (M3)", 4),
    _apple("apple-m4", "M4 performance core", 4, matrix="sme"),
    _apple("apple-m1-e", "Icestorm (M1)", 2, small=True),
    _apple("apple-m2-e", "Blizzard (M2)", 2, small=True),
    _apple("apple-m3-e", "Sawtooth (M3)", 2, small=True),
    _apple("apple-m4-e", "M4 efficiency core", 2, small=True, matrix="sme"),
    Microarchitecture(id="power7", name="POWER7", vendor="IBM", datapath_bits=128),
    Microarchitecture(id="power8", name="POWER8", vendor="IBM", datapath_bits=128),
    Microarchitecture(id="power9", name="POWER9", vendor="IBM", datapath_bits=128),
    Microarchitecture(id="power10", name="POWER10", vendor="IBM", datapath_bits=128, matrix_unit="mma"),
    # No vector unit at all: one scalar multiply-add a clock.
    Microarchitecture(
        id="u74", name="SiFive U74", vendor="SiFive", source=_ARCHSPEC + " (u74mc)"
    ),
    Microarchitecture(
        id="x60", name="SpacemiT X60", vendor="SpacemiT", source=_ARCHSPEC + " (x60)"
    ),
)  # fmt: skip

MICROARCHITECTURES: Mapping[str, Microarchitecture] = {design.id: design for design in _ALL}
