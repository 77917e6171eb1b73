"""Whether a training step fits in a device's memory, and the largest batch that does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from estimator.hardware.architecture import DeviceKind
from estimator.networks.footprint import block_of
from estimator.precision import HALVES, DType
from estimator.results.prediction import MemorySummary
from estimator.software import CURRENT_ERA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.hardware.device import Device
    from estimator.precision import PrecisionPolicy
    from estimator.predict.layout import Parallelism
    from estimator.workload.workload import Footprint, Workload

# What a framework holds before the first layer: a CUDA context with its kernels and library handles is
# 0.3 to 0.8 GB by version (nvidia-smi on an idle process); an imported framework on a CPU about 0.3 GB.
_CONTEXT_BYTES = {DeviceKind.GPU: 600 * 10**6, DeviceKind.CPU: 300 * 10**6}
# CUDA 11.0 to 11.6 loaded all kernels of all libraries at once, more than 1 GB; since 11.7 (PyTorch 1.13 and
# 2.0) each is loaded when it is first launched: https://github.com/pytorch/pytorch/issues/107667.
_ALL_KERNELS_BYTES, _ALL_KERNELS_YEARS = 1100 * 10**6, range(2020, 2023)
# Caching allocators round and fragment: PyTorch's reserved memory is typically 3 to 8 % above allocated.
_FRAGMENTATION = 1.05
# Of an NVIDIA GPU's memory the driver keeps a part: CUDA reports 15.78 of 16 GiB (V100), 23.70 of 24
# (RTX 3090), 39.56 of 40 and 79.15 of 80 (A100).
_DRIVER_SHARE = 0.012


def memory_summary(
    footprint: Footprint, doubled: Footprint, device: Device, batch: int, era: int = CURRENT_ERA
) -> MemorySummary:
    """Return the footprint on a device; ``doubled`` is that of twice the batch: each moment is linear in it.

    ``era`` is the year of the software. What fits is judged by what a program can have of the capacity.
    """
    usable = usable_bytes(device)
    moments, grown = (held_moments(one, device, era) for one in (footprint, doubled))
    total = max(moments)
    named = footprint.moments_bytes[0] - footprint.other_bytes
    return MemorySummary(
        weights_bytes=footprint.weights_bytes,
        gradients_bytes=footprint.gradients_bytes,
        optimizer_bytes=footprint.optimizer_bytes,
        activations_bytes=footprint.activations_bytes,
        other_bytes=total - named,
        total_bytes=total,
        capacity_bytes=device.memory_bytes,
        fits=None if usable is None else total <= usable,
        largest_batch=None if usable is None else largest_batch(batch, moments, grown, usable),
    )


def largest_batch(batch: int, moments: Sequence[float], doubled: Sequence[float], room: float) -> int:
    """Return the largest batch whose every moment has room, from the moments of a batch and of its double."""
    rooms = (
        (room - held) // max(1.0, (twice - held) / batch)
        for held, twice in zip(moments, doubled, strict=True)
    )
    return max(0, int(batch + min(rooms)))


def usable_bytes(device: Device) -> int | None:
    """Return what a program can have of a device's memory, None where its size is not known."""
    if device.memory_bytes is None:
        return None
    kept = _DRIVER_SHARE if device.kind is DeviceKind.GPU and device.vendor == "nvidia" else 0.0
    return round(device.memory_bytes * (1 - kept))


def sharded(workload: Workload, policy: PrecisionPolicy, parallel: Parallelism) -> Footprint:
    """Return what one device holds of a step whose weights and optimizer state are spread over devices.

    The workload is that of one device's batch, in the format of the products. With ``fsdp`` shards stay in
    fp32; each block's weights are gathered in ``policy``'s format before its turn, two blocks at a time
    beside what belongs to none, and its gradients are whole until they are scattered. With ``zero1`` only
    the optimizer's state is spread.
    """
    whole, data = workload.footprint, parallel.data
    if parallel.sharding == "none":
        return whole
    if parallel.sharding != "fsdp":
        return replace(
            whole,
            optimizer_bytes=-(-whole.optimizer_bytes // data),
            updating_bytes=-(-whole.updating_bytes // data),
        )
    wide = policy.masters is None and policy.weights in HALVES  # else the optimizer's share holds the copies
    widening = DType.FP32.itemsize // policy.weights.itemsize if wide else 1
    blocks: dict[str | None, int] = defaultdict(int)
    for layer in workload.layers:
        blocks[block_of(layer.path)] += layer.parameters
    loose = blocks.pop(None, 0)
    gathered = (3 * max(blocks.values(), default=0) + 2 * loose) * policy.weights.itemsize
    return replace(
        whole,
        weights_bytes=-(-whole.weights_bytes * widening // data),
        gradients_bytes=-(-whole.gradients_bytes * widening // data),
        optimizer_bytes=-(-whole.optimizer_bytes * widening // data),
        other_bytes=whole.other_bytes + gathered,
        updating_bytes=-(-whole.updating_bytes * widening // data),
    )


def _context_bytes(device: Device, era: int) -> int:
    if device.kind is DeviceKind.GPU and device.vendor == "nvidia" and era in _ALL_KERNELS_YEARS:
        return _ALL_KERNELS_BYTES
    return _CONTEXT_BYTES[device.kind]


def held_moments(footprint: Footprint, device: Device, era: int) -> tuple[int, ...]:
    """Return the bytes taken on a device at each moment, with the allocator's and the framework's own."""
    context = _context_bytes(device, era)
    return tuple(round(size * _FRAGMENTATION) + context for size in footprint.moments_bytes)
