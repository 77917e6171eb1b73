"""Which processor numbers belong to which microarchitecture: x86 family and model, Arm part."""

from __future__ import annotations

from typing import NamedTuple

INTEL, AMD, HYGON = "GenuineIntel", "AuthenticAMD", "HygonGenuine"
# CPUID vendor strings as people name the vendors.
VENDORS = {
    INTEL: "Intel", AMD: "AMD", HYGON: "Hygon", "CentaurHauls": "VIA", "  Shanghai  ": "Zhaoxin",
    "Shanghai": "Zhaoxin",
}  # fmt: skip
ARM_VENDORS = {
    0x41: "Arm", 0x42: "Broadcom", 0x43: "Cavium", 0x46: "Fujitsu", 0x48: "HiSilicon", 0x4E: "NVIDIA",
    0x50: "APM", 0x51: "Qualcomm", 0x53: "Samsung", 0x56: "Marvell", 0x61: "Apple", 0x6D: "Microsoft",
    0x70: "Phytium", 0xC0: "Ampere",
}  # fmt: skip


class X86Range(NamedTuple):
    """Models (and steppings) of one vendor and family that share a core design, and its efficiency core."""

    vendor: str
    family: int
    models: frozenset[int]
    performance: str
    efficiency: str | None = None
    steppings: range = range(256)


def _models(*spans: int | tuple[int, int]) -> frozenset[int]:
    numbers: set[int] = set()
    for span in spans:
        first, last = (span, span) if isinstance(span, int) else span
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def _intel(
    design: str, *models: int, efficiency: str | None = None, steppings: range = range(256)
) -> X86Range:
    return X86Range(INTEL, 6, frozenset(models), design, efficiency, steppings)


# Numbers: Linux arch/x86/include/asm/intel-family.h; AMD processor programming references.
X86_RANGES = (
    _intel("core2", 0x0F, 0x16, 0x17, 0x1D),
    _intel("nehalem", 0x1A, 0x1E, 0x1F, 0x2E),
    _intel("westmere", 0x25, 0x2C, 0x2F),
    _intel("sandy-bridge", 0x2A, 0x2D),
    _intel("ivy-bridge", 0x3A, 0x3E),
    _intel("haswell", 0x3C, 0x3F, 0x45, 0x46),
    _intel("broadwell", 0x3D, 0x47, 0x4F, 0x56),
    _intel("skylake", 0x4E, 0x5E, 0x8E, 0x9E, 0xA5, 0xA6),
    _intel("skylake-x", 0x55, steppings=range(5)),
    _intel("cascade-lake", 0x55, steppings=range(5, 10)),
    _intel("cooper-lake", 0x55, steppings=range(10, 16)),
    _intel("cannon-lake", 0x66),
    _intel("ice-lake", 0x7D, 0x7E, 0x9D),
    _intel("tiger-lake", 0x8C, 0x8D),
    _intel("rocket-lake", 0xA7, 0xA8),
    _intel("ice-lake-sp", 0x6A, 0x6C),
    _intel("sapphire-rapids", 0x8F),
    _intel("emerald-rapids", 0xCF),
    _intel("granite-rapids", 0xAD, 0xAE),
    _intel("sierra-forest", 0xAF),
    _intel("golden-cove", 0x97, 0x9A, efficiency="gracemont"),
    _intel("raptor-cove", 0xB7, 0xBA, 0xBF, efficiency="gracemont"),
    _intel("redwood-cove", 0xAA, 0xAC, 0xB5, efficiency="crestmont"),
    _intel("lion-cove", 0xBD, 0xC5, 0xC6, efficiency="skymont"),
    _intel("gracemont", 0xBE),
    _intel("knights-landing", 0x57, 0x85),
    _intel("bonnell", 0x1C, 0x26, 0x27, 0x35, 0x36),
    _intel("silvermont", 0x37, 0x4A, 0x4C, 0x4D, 0x5A, 0x5D),
    _intel("goldmont", 0x5C, 0x5F, 0x7A),
    _intel("tremont", 0x86, 0x8A, 0x96, 0x9C),
    X86Range(AMD, 15, _models((0, 255)), "k8"),
    X86Range(AMD, 16, _models((0, 255)), "k10"),
    X86Range(AMD, 20, _models((0, 255)), "bobcat"),
    X86Range(AMD, 21, _models((0x00, 0x01)), "bulldozer"),
    X86Range(AMD, 21, _models(0x02, (0x10, 0x1F)), "piledriver"),
    X86Range(AMD, 21, _models((0x30, 0x3F)), "steamroller"),
    X86Range(AMD, 21, _models((0x60, 0x7F)), "excavator"),
    X86Range(AMD, 22, _models((0, 255)), "jaguar"),
    X86Range(AMD, 23, _models(0x08, 0x18), "zen-plus"),
    X86Range(AMD, 23, _models((0x00, 0x07), (0x10, 0x17), (0x20, 0x2F)), "zen"),
    X86Range(AMD, 23, _models((0x30, 0x3F), 0x47, (0x60, 0x7F), (0x84, 0x87), (0x90, 0xAF)), "zen2"),
    X86Range(AMD, 25, _models((0x00, 0x0F), (0x20, 0x5F)), "zen3"),
    X86Range(AMD, 25, _models((0x10, 0x1F), (0x60, 0x7F), (0xA0, 0xAF)), "zen4"),
    X86Range(AMD, 26, _models((0x00, 0x1F), (0x40, 0x4F)), "zen5"),
    X86Range(AMD, 26, _models((0x20, 0x2F), (0x60, 0x77)), "zen5-mobile"),
    X86Range(AMD, 26, _models((0x50, 0x5F), (0x80, 0xAF), (0xC0, 0xCF)), "zen6"),
    X86Range(HYGON, 24, _models((0, 255)), "dhyana"),
)

# (implementer, part): Linux arch/arm64/include/asm/cputype.h and util-linux lscpu-arm.c.
ARM_PARTS = {
    (0x41, 0xB76): "arm1176",
    (0x41, 0xC05): "cortex-a5", (0x41, 0xC07): "cortex-a7", (0x41, 0xC08): "cortex-a8",
    (0x41, 0xC09): "cortex-a9", (0x41, 0xC0E): "cortex-a17", (0x41, 0xC0F): "cortex-a15",
    (0x41, 0xD03): "cortex-a53", (0x41, 0xD04): "cortex-a35", (0x41, 0xD05): "cortex-a55",
    (0x41, 0xD07): "cortex-a57", (0x41, 0xD08): "cortex-a72", (0x41, 0xD09): "cortex-a73",
    (0x41, 0xD0A): "cortex-a75", (0x41, 0xD0B): "cortex-a76", (0x41, 0xD0C): "neoverse-n1",
    (0x41, 0xD0D): "cortex-a77", (0x41, 0xD0E): "cortex-a76", (0x41, 0xD40): "neoverse-v1",
    (0x41, 0xD41): "cortex-a78", (0x41, 0xD42): "cortex-a78", (0x41, 0xD44): "cortex-x1",
    (0x41, 0xD46): "cortex-a510", (0x41, 0xD47): "cortex-a710", (0x41, 0xD48): "cortex-x2",
    (0x41, 0xD49): "neoverse-n2", (0x41, 0xD4B): "cortex-a78", (0x41, 0xD4C): "cortex-x1",
    (0x41, 0xD4D): "cortex-a715", (0x41, 0xD4E): "cortex-x3", (0x41, 0xD4F): "neoverse-v2",
    (0x41, 0xD80): "cortex-a520", (0x41, 0xD81): "cortex-a720", (0x41, 0xD82): "cortex-x4",
    (0x41, 0xD83): "neoverse-v3", (0x41, 0xD84): "neoverse-v3", (0x41, 0xD85): "cortex-x925",
    (0x41, 0xD87): "cortex-a725", (0x41, 0xD8E): "neoverse-n3",
    (0x42, 0x516): "thunderx2", (0x43, 0x0A1): "thunderx", (0x43, 0x0AF): "thunderx2",
    (0x46, 0x001): "a64fx", (0x48, 0xD01): "tsv110",
    (0x4E, 0x003): "denver2", (0x4E, 0x004): "carmel", (0x4E, 0x010): "olympus",
    (0x51, 0x001): "oryon", (0x51, 0x201): "kryo", (0x51, 0x205): "kryo", (0x51, 0x211): "kryo",
    (0x61, 0x022): "apple-m1-e", (0x61, 0x023): "apple-m1", (0x61, 0x024): "apple-m1-e",
    (0x61, 0x025): "apple-m1", (0x61, 0x028): "apple-m1-e", (0x61, 0x029): "apple-m1",
    (0x61, 0x032): "apple-m2-e", (0x61, 0x033): "apple-m2", (0x61, 0x034): "apple-m2-e",
    (0x61, 0x035): "apple-m2", (0x61, 0x038): "apple-m2-e", (0x61, 0x039): "apple-m2",
    (0xC0, 0xAC3): "ampereone", (0xC0, 0xAC4): "ampereone", (0xC0, 0xAC5): "ampereone",
    # Qualcomm's and others' renamed Arm cores.
    (0x51, 0x800): "cortex-a73", (0x51, 0x801): "cortex-a53", (0x51, 0x802): "cortex-a75",
    (0x51, 0x803): "cortex-a55", (0x51, 0x804): "cortex-a76", (0x51, 0x805): "cortex-a55",
    (0x6D, 0xD49): "neoverse-n2",
}  # fmt: skip
