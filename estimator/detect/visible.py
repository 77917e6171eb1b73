"""Which GPUs a framework sees: the masks in the environment, and the order they give."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from estimator.detect.facts import GpuFacts
    from estimator.detect.ledger import Ledger

_INDEX = re.compile(r"\s*\+?([0-9]{1,6})")


def apply_masks(
    gpus: Sequence[GpuFacts], environ: Mapping[str, str], ledger: Ledger
) -> tuple[tuple[GpuFacts, ...], tuple[GpuFacts, ...]]:
    """Return the visible GPUs, numbered as their framework does, and the hidden ones."""
    visible: list[GpuFacts] = []
    nvidia = any(gpu.vendor == "NVIDIA" for gpu in gpus)
    # HIP heeds CUDA's variable where its own is not set (ROCm documentation, GPU isolation).
    hip = "HIP_VISIBLE_DEVICES" if nvidia or "HIP_VISIBLE_DEVICES" in environ else "CUDA_VISIBLE_DEVICES"
    for vendor, variables in (("NVIDIA", ("CUDA_VISIBLE_DEVICES",)), ("AMD", ("ROCR_VISIBLE_DEVICES", hip))):
        own = [gpu for gpu in gpus if gpu.vendor == vendor]
        seen = _computing(own, ledger)
        for variable in variables:
            seen = _masked(
                seen, own, environ.get(variable), variable=variable, environ=environ, ledger=ledger
            )
        visible += [replace(gpu, framework_index=number) for number, gpu in enumerate(seen)]
    visible += [gpu for gpu in gpus if gpu.vendor not in {"NVIDIA", "AMD"}]
    shown = {_key(gpu) for gpu in visible}
    return tuple(visible), tuple(gpu for gpu in gpus if _key(gpu) not in shown)


def _key(gpu: GpuFacts) -> tuple[object, ...]:
    return gpu.vendor, gpu.index, gpu.parent_index, gpu.uuid


def _computing(gpus: list[GpuFacts], ledger: Ledger) -> list[GpuFacts]:
    """Return the devices that can run a kernel: a partitioned GPU only through its slices.

    CUDA gives a process one slice, the first, however many there are (NVIDIA MIG user guide).
    """
    slices = [gpu for gpu in gpus if gpu.parent_index is not None]
    whole = [gpu for gpu in gpus if not gpu.mig_enabled]
    for gpu in gpus:
        if (
            gpu.mig_enabled
            and gpu.parent_index is None
            and not any(s.parent_index == gpu.index for s in slices)
        ):
            ledger.finding(
                f"GPU {gpu.index} ({gpu.name}) has MIG on but no slice",
                "a partitioned GPU computes only through its slices",
                "create one with `nvidia-smi mig -cgi ... -C`, or switch MIG off",
            )
    if len(slices) > 1:
        ledger.finding(
            f"one of {len(slices)} MIG slices is usable in a process",
            "CUDA enumerates only the first slice it may use",
            "start a process a slice, each with its CUDA_VISIBLE_DEVICES=MIG-...",
        )
    return whole + slices[:1]


def _masked(
    seen: list[GpuFacts],
    every: list[GpuFacts],
    mask: str | None,
    *,
    variable: str,
    environ: Mapping[str, str],
    ledger: Ledger,
) -> list[GpuFacts]:
    if mask is None or not every:
        return seen
    chosen = _choose(mask, seen, every)
    hidden = len(seen) - len(chosen)
    if hidden > 0:
        ledger.finding(
            f"{hidden} of {len(seen)} GPUs hidden" if chosen else f"all {len(seen)} GPUs hidden",
            f"{variable}={mask!r}",
            f"unset {variable} to use them",
        )
    by_number = not mask.strip().upper().startswith(("GPU-", "MIG-"))
    _warn_of_order(seen, environ, ledger, by_number=by_number and variable == "CUDA_VISIBLE_DEVICES")
    return chosen


def _warn_of_order(
    gpus: list[GpuFacts], environ: Mapping[str, str], ledger: Ledger, *, by_number: bool
) -> None:
    """Say that CUDA numbers unlike GPUs fastest first while the driver lists them by slot."""
    if by_number and len({gpu.name for gpu in gpus}) > 1 and environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        ledger.finding(
            "which GPU a number in CUDA_VISIBLE_DEVICES means is not certain",
            "CUDA puts the fastest first, the driver goes by PCI slot, and the GPUs here differ",
            "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID",
        )


def _choose(mask: str, seen: list[GpuFacts], every: list[GpuFacts]) -> list[GpuFacts]:
    """Return the devices of a mask in its order: it ends at the first that is not there.

    As CUDA reads it (programming guide, environment variables): a device named twice leaves none.
    """
    chosen: list[GpuFacts] = []
    for word in (part.strip() for part in mask.split(",")):
        gpu = _named(word, every) if word.upper().startswith(("GPU-", "MIG-")) else _numbered(word, seen)
        if gpu is None:
            break
        if gpu in chosen:
            return chosen[:1] if gpu.parent_index is not None else []
        chosen.append(gpu)
    slices = [gpu for gpu in chosen if gpu.parent_index is not None]
    return slices[:1] if slices else chosen


def _numbered(word: str, gpus: list[GpuFacts]) -> GpuFacts | None:
    match = _INDEX.match(word)
    number = int(match[1]) if match else len(gpus)
    return gpus[number] if number < len(gpus) else None


def _named(word: str, gpus: list[GpuFacts]) -> GpuFacts | None:
    """Return the device whose UUID starts so; several, or a partitioned GPU itself, are none.

    ``MIG-GPU-<uuid>/<gi>/<ci>`` is the form of drivers before R470.
    """
    fits = [gpu for gpu in gpus if (gpu.uuid or "").lower().startswith(word.lower())]
    fits = [gpu for gpu in fits if gpu.parent_index is not None or not gpu.mig_enabled]
    return fits[0] if len(fits) == 1 else None
