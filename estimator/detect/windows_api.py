"""What Windows tells about itself: the registry and a few kernel calls, recordable as plain data."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CPU_KEY = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
DISPLAY_CLASS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"
# IsProcessorFeaturePresent numbers (winnt.h) in Linux' spelling of what they say.
FEATURES = {10: "sse2", 38: "sse4_2", 39: "avx", 40: "avx2", 41: "avx512f", 19: "neon", 43: "asimddp"}
_RELATION_ALL = 0xFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowsApi:
    """The answers of one host.

    ``processor`` holds the registry values of the first processor, ``processor_information`` the bytes of
    ``GetLogicalProcessorInformationEx(RelationAll)``.
    ``group_affinity`` maps a processor group to the mask of this process in it; a process starts in one
    group of at most 64 CPUs and Windows before 11 keeps it there.
    """

    processor: Mapping[str, object] = field(default_factory=dict)
    processor_information: bytes = b""
    features: frozenset[str] = frozenset()
    total_bytes: int | None = None
    available_bytes: int | None = None
    group_affinity: Mapping[int, int] = field(default_factory=dict)
    displays: tuple[Mapping[str, object], ...] = ()


def live_windows() -> WindowsApi | None:
    """Ask this host's Windows; None on another system, and empty fields for what it does not answer."""
    if sys.platform != "win32":
        return None
    return _ask_windows()


def _ask_windows() -> WindowsApi:
    import ctypes

    kernel32 = ctypes.windll.kernel32  # type: ignore[attr-defined]
    total, available = _memory(kernel32)
    return WindowsApi(
        processor=_registry(CPU_KEY),
        processor_information=_processor_information(kernel32),
        features=frozenset(name for n, name in FEATURES.items() if kernel32.IsProcessorFeaturePresent(n)),
        total_bytes=total,
        available_bytes=available,
        group_affinity=_affinity(kernel32),
        displays=tuple(d for n in range(16) if (d := _registry(rf"{DISPLAY_CLASS}\{n:04d}"))),
    )


def _registry(path: str) -> dict[str, object]:
    import winreg

    values: dict[str, object] = {}
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, path) as key:  # type: ignore[attr-defined]
            for number in range(winreg.QueryInfoKey(key)[1]):  # type: ignore[attr-defined]
                name, value, _ = winreg.EnumValue(key, number)  # type: ignore[attr-defined]
                values[name] = value
    except OSError:
        return {}
    return values


def _processor_information(kernel32: object) -> bytes:
    import ctypes

    call = kernel32.GetLogicalProcessorInformationEx  # type: ignore[attr-defined]
    length = ctypes.c_ulong(0)
    call(_RELATION_ALL, None, ctypes.byref(length))
    buffer = ctypes.create_string_buffer(length.value or 1)
    return buffer.raw[: length.value] if call(_RELATION_ALL, buffer, ctypes.byref(length)) else b""


def _memory(kernel32: object) -> tuple[int | None, int | None]:
    import ctypes

    class MemoryStatus(ctypes.Structure):
        """MEMORYSTATUSEX."""

        _fields_ = (
            ("length", ctypes.c_ulong), ("load", ctypes.c_ulong), ("total", ctypes.c_ulonglong),
            ("available", ctypes.c_ulonglong), ("rest", ctypes.c_ulonglong * 5),
        )  # fmt: skip

    status = MemoryStatus()
    status.length = ctypes.sizeof(status)
    if not kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):  # type: ignore[attr-defined]
        return None, None
    return status.total or None, status.available or None


def _affinity(kernel32: object) -> dict[int, int]:
    """Return this process's mask in the group it runs in."""
    import ctypes

    process, system = ctypes.c_size_t(0), ctypes.c_size_t(0)
    handle = kernel32.GetCurrentProcess()  # type: ignore[attr-defined]
    call = kernel32.GetProcessAffinityMask  # type: ignore[attr-defined]
    if not call(ctypes.c_void_p(handle), ctypes.byref(process), ctypes.byref(system)) or not process.value:
        return {}
    group = ctypes.c_ushort(0)
    count = ctypes.c_ushort(1)
    groups = kernel32.GetProcessGroupAffinity  # type: ignore[attr-defined]
    groups(ctypes.c_void_p(handle), ctypes.byref(count), ctypes.byref(group))
    return {group.value: process.value}
