"""This machine: facts about its processors and memory, and findings for what stays unknown."""

from estimator.detect.facts import (
    CacheFacts,
    CoreGroup,
    CoreKind,
    CpuFacts,
    GpuFacts,
    HostFacts,
    MemoryFacts,
    PeerLink,
)
from estimator.detect.host import detect_host

__all__ = [
    "CacheFacts",
    "CoreGroup",
    "CoreKind",
    "CpuFacts",
    "GpuFacts",
    "HostFacts",
    "MemoryFacts",
    "PeerLink",
    "detect_host",
]
