"""Architecture profiles to architectures, and the ways to find one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.hardware.architecture import Architecture, DeviceKind
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from estimator.catalog.sources import Sources

_KIB = 1024
_GEFORCE, _PROFESSIONAL, _PLAIN = "geforce", "professional", "no tensor cores"
# Cut-down parts of an architecture; only their names tell.
_EXPORT = "export"


def build_architecture(record: Mapping[str, Any], sources: Sources) -> Architecture:
    """Make an architecture of a checked profile."""
    rates = record["fma_per_clock"]
    targets = tuple(record.get("targets", ()))
    shared = record.get("shared_memory_kib")
    fields = [key for key in record if key not in {"format", "id", "name", "sources", "note"}]
    return Architecture(
        id=record["id"],
        name=record["name"],
        vendor=record["vendor"],
        kind=DeviceKind(record["kind"]),
        unit_name=record["unit_name"],
        lanes_per_unit=record["lanes_per_unit"],
        vector=_rates(rates.get("vector", {})),
        matrix=_rates(rates.get("matrix", {})),
        matrix_narrow=_rates(rates.get("matrix_narrow", {})),
        matrix_clock_scale=record.get("matrix_clock_scale", 1.0),
        year=record.get("year"),
        target=targets[0] if targets else None,
        targets=targets,
        market=record.get("market"),
        aliases=tuple(record.get("aliases", ())),
        cpuid=tuple(_cpuid(entry) for entry in record.get("cpuid", ())),
        arm_parts=tuple(record.get("arm_parts", ())),
        max_threads_per_unit=record.get("threads_per_unit"),
        max_blocks_per_unit=record.get("blocks_per_unit"),
        simd_bits=record.get("simd_bits"),
        fma_pipes=record.get("fma_pipes"),
        has_fma=record.get("has_fma", True),
        integers_share_lanes=record.get("integers_share_lanes", False),
        shared_memory_bytes=None if shared is None else int(shared * _KIB),
        note=record.get("note", ""),
        provenance={key: origin for key in fields if (origin := sources.of(record, key))},
    )


def _rates(table: Mapping[str, float]) -> dict[DType, float]:
    return {DType(name): rate for name, rate in table.items()}


def _cpuid(entry: Mapping[str, Any]) -> tuple[int, frozenset[int], frozenset[int]]:
    models: set[int] = set()
    for text in entry["models"]:
        low, _, high = text.partition("-")
        models.update(range(int(low, 16), int(high or low, 16) + 1))
    return entry["family"], frozenset(models), frozenset(entry.get("steppings", ()))


def for_target(
    architectures: Iterable[Architecture],
    target: str,
    *,
    geforce: bool | None = None,
    tensor_cores: bool | None = None,
) -> Architecture | None:
    """Return the one architecture of a compute capability or processor name (``8.6``, ``gfx90a``).

    Where a capability is shared, ``geforce`` and, for 7.5, ``tensor_cores`` decide; None where what is
    known does not decide.
    """
    found = [one for one in architectures if target in one.targets and one.market != _EXPORT]
    if tensor_cores is not None:
        found = [one for one in found if (one.market != _PLAIN) == tensor_cores] or found
    if geforce is not None:
        wrong = _PROFESSIONAL if geforce else _GEFORCE
        found = [one for one in found if one.market != wrong]
        if not geforce:
            found = [one for one in found if one.market != "consumer"] or found
    return found[0] if len(found) == 1 else None


def for_nvidia(architectures: Iterable[Architecture], target: str, name: str) -> Architecture | None:
    """Return the architecture of an NVIDIA GPU by capability and the name NVML gives.

    The name tells GeForce from professional, and the GTX 16 series (no tensor cores) from the RTX 20.
    """
    lowered = name.lower()
    geforce = "geforce" in lowered
    # The Titans of Kepler and Turing have the rates of the professional cards, the first ones as GeForce GTX.
    if "titan" in lowered:
        geforce = False
    plain = "gtx 16" in lowered or any(f"mx{digits}" in lowered.replace(" ", "") for digits in ("450", "550"))
    tensor_cores = not plain if target == "7.5" else None
    return for_target(architectures, target, geforce=None if plain else geforce, tensor_cores=tensor_cores)


def for_cpuid(
    architectures: Iterable[Architecture], vendor: str, family: int, model: int, stepping: int | None = None
) -> Architecture | None:
    """Return the architecture of an x86 CPU; of two that differ only in FMA pipes the two-pipe one."""
    for candidate in architectures:
        if candidate.vendor == vendor:
            for known_family, models, steppings in candidate.cpuid:
                fits = family == known_family and model in models
                if fits and (not steppings or stepping in steppings):
                    return candidate
    return None


def for_arm_part(architectures: Iterable[Architecture], implementer: str, part: str) -> Architecture | None:
    """Return the architecture of an ARM core by the two hexadecimal codes of /proc/cpuinfo."""
    wanted = f"{implementer.lower()}/{part.lower()}"
    return next((one for one in architectures if wanted in one.arm_parts), None)


def by_name(architectures: Iterable[Architecture], name: str) -> Architecture | None:
    """Return the architecture of that id, name or alias (``neoverse_n1``)."""
    wanted = name.lower().replace("_", "-")
    for one in architectures:
        known = {one.id, one.name.lower(), *(alias.lower().replace("_", "-") for alias in one.aliases)}
        if wanted in known:
            return one
    return None
