"""The cpuinfo, sysctl and CPUID dumps that archspec ships: microarchitecture and vector width of each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import archspec
import pytest

from estimator.detect.host import detect_with
from estimator.detect.recording import Recording

if TYPE_CHECKING:
    from estimator.detect import HostFacts

TARGETS = Path(archspec.__path__[0]) / "json" / "tests" / "targets"
SYSCTL = "sysctl hw machdep.cpu kern.hv_vmm_present"

# What each processor is: id, width of one FMA pipe in bits, fp32 lanes of a core (None: not public).
ANSWERS: dict[str, tuple[str | None, int | None, int | None]] = {
    "bgq-rhel6-power7": ("power7", 128, None),
    "darwin-bigsur-m1": ("apple-m1", 128, None),
    "darwin-mojave-haswell": ("haswell", 256, 16),
    "darwin-mojave-ivybridge": ("ivy-bridge", 256, 8),
    "darwin-mojave-skylake": ("skylake", 256, 16),
    "darwin-monterey-m1": ("apple-m1", 128, None),
    "darwin-monterey-m2": ("apple-m2", 128, 16),
    "darwin-sequoia-m3": ("apple-m3", 128, 16),
    "darwin-sequoia-m4": ("apple-m4", 128, 16),
    "linux-amazon-cortex_a72": ("cortex-a72", 128, 4),
    "linux-amazon-neoverse_n1": ("neoverse-n1", 128, 8),
    "linux-amazon-neoverse_v1": ("neoverse-v1", 256, 16),
    "linux-asahi-m1": ("apple-m1-e", 128, 8),
    "linux-asahi-m2": ("apple-m2-e", 128, 8),
    "linux-centos7-cascadelake": ("cascade-lake", 512, 32),
    "linux-centos7-power8le": ("power8", 128, None),
    "linux-centos7-thunderx2": ("thunderx2", 128, 8),
    "linux-debian13-x60": ("x60", None, None),
    "linux-rhel6-piledriver": ("piledriver", 128, 4),
    "linux-rhel7-broadwell": ("broadwell", 256, 16),
    "linux-rhel7-haswell": ("haswell", 256, 16),
    "linux-rhel7-ivybridge": ("ivy-bridge", 256, 8),
    "linux-rhel7-skylake_avx512": ("skylake-x", 512, 32),
    # A Haswell whose hypervisor hides flags: archspec says x86_64_v3, the model number says what it is.
    "linux-rhel7-x86_64_v3": ("haswell", 256, 16),
    "linux-rhel7-zen": ("zen", 128, 8),
    "linux-rhel8-neoverse_v1": ("neoverse-v1", 256, 16),
    "linux-rhel8-power9": ("power9", 128, None),
    "linux-rhel9-neoverse_n2": ("neoverse-n2", 128, 8),
    "linux-rhel9-neoverse_v2": ("neoverse-v2", 128, 16),
    "linux-rocky8-a64fx": ("a64fx", 512, 32),
    "linux-rocky8.5-zen4": ("zen4", 256, 16),
    "linux-rocky9-zen5": ("zen5", 512, 32),
    "linux-rocky9-zen6": ("zen6", 512, None),
    "linux-scientific7-k10": ("k10", 128, 4),
    "linux-scientific7-piledriver": ("piledriver", 128, 4),
    "linux-scientificfermi6-bulldozer": ("bulldozer", 128, 4),
    "linux-scientificfermi6-piledriver": ("piledriver", 128, 4),
    "linux-sifive-u74mc": ("u74", None, None),
    "linux-spacemit-x60": ("x60", None, None),
    "linux-ubuntu18.04-broadwell": ("broadwell", 256, 16),
    "linux-ubuntu20.04-zen3": ("zen3", 256, 16),
    "linux-ubuntu22.04-ampere1": ("ampereone", 128, 8),
    "linux-ubuntu22.04-ampere1a": ("ampereone", 128, 8),
    "linux-ubuntu22.04-neoverse_n2": ("neoverse-n2", 128, 8),
    "linux-ubuntu22.04-neoverse_v2": ("neoverse-v2", 128, 16),
    # Both dumps are of a Core Ultra 9 285 (model 0xC6): Arrow Lake, whatever the file is called.
    "linux-ubuntu24.04-alderlake": ("lion-cove", 256, None),
    "linux-ubuntu24.04-neoverse_v3ae": ("neoverse-v3", 128, 16),
    "linux-ubuntu26.04-arrowlake_s": ("lion-cove", 256, None),
    "linux-ubuntu26.04-olympus": ("olympus", 128, None),
    "linux-unknown-neoverse_v2": ("neoverse-v2", 128, 16),
    "linux-unknown-power10": ("power10", 128, None),
    "linux-unknown-sapphirerapids": ("sapphire-rapids", 512, 32),
    "windows-cpuid-broadwell": ("broadwell", 256, 16),
    # Model 0x8C, an i7-1165G7: Tiger Lake, whatever the file is called.
    "windows-cpuid-icelake": ("tiger-lake", 512, 16),
}
# (leaf, register, bit) of the instruction sets Windows tells of: Intel SDM vol. 2, CPUID.
FEATURE_BITS = {"avx": (1, 2, 28), "avx2": (7, 1, 5), "avx512f": (7, 1, 16), "sse2": (1, 3, 26)}


def windows_answers(dump: str) -> dict[str, object]:
    """Return what Windows' registry and feature calls say on a processor with these CPUID leaves."""
    leaves = {}
    for line in dump.splitlines():
        leaf, subleaf, *registers = (int(word) for word in line.split(","))
        leaves[leaf, subleaf] = registers
    signature = leaves[1, 0][0]
    family = signature >> 8 & 0xF
    model = signature >> 4 & 0xF | (signature >> 16 & 0xF) << 4
    words = [leaves[0, 0][n] for n in (1, 3, 2)]
    brand = [word for leaf in range(0x80000002, 0x80000005) for word in leaves[leaf, 0]]
    return {
        "processor": {
            "Identifier": f"Intel64 Family {family} Model {model} Stepping {signature & 0xF}",
            "VendorIdentifier": b"".join(word.to_bytes(4, "little") for word in words).decode(),
            "ProcessorNameString": b"".join(w.to_bytes(4, "little") for w in brand).decode().strip("\0 "),
        },
        "features": [n for n, (leaf, r, bit) in FEATURE_BITS.items() if leaves[leaf, 0][r] >> bit & 1],
    }


def detect_dump(name: str) -> HostFacts:
    """Detect a host of which only this dump is known."""
    text = (TARGETS / name).read_text(encoding="utf-8")
    if name.startswith("darwin"):
        return detect_with(Recording(system="darwin", commands={SYSCTL: text}).seams())
    if name.startswith("windows"):
        return detect_with(Recording(system="windows", windows=windows_answers(text)).seams())
    return detect_with(Recording(files={"/proc/cpuinfo": text}).seams())


@pytest.mark.parametrize("name", sorted(path.name for path in TARGETS.iterdir()))
def test_dump(name: str) -> None:
    if name not in ANSWERS:
        pytest.fail(f"archspec ships a new dump {name}: add its answer")
    microarchitecture, simd_bits, lanes = ANSWERS[name]
    cpu = detect_dump(name).cpu
    assert (cpu.microarchitecture, cpu.simd_bits) == (microarchitecture, simd_bits)
    if lanes is None:
        per_core = {group.lanes_per_core for group in cpu.groups if group.fma_pipes is None}
        assert per_core <= {None}
    elif cpu.groups:
        assert cpu.groups[0].lanes_per_core == lanes
    else:
        assert cpu.simd_bits is not None
        assert cpu.fma_pipes is not None
        assert cpu.simd_bits * cpu.fma_pipes // 32 == lanes
