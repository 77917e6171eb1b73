"""Whether a training step fits in a device's memory, and the largest batch that does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.hardware.architecture import DeviceKind
from estimator.results.prediction import MemorySummary

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.workload.workload import Footprint

# What a framework holds before the first layer: a CUDA context with its kernels and library handles is
# 0.3 to 0.8 GB by version (nvidia-smi on an idle process); an imported framework on a CPU about 0.3 GB.
_CONTEXT_BYTES = {DeviceKind.GPU: 600 * 10**6, DeviceKind.CPU: 300 * 10**6}
# Caching allocators round and fragment: PyTorch's reserved memory is typically 3 to 8 % above allocated.
_FRAGMENTATION = 1.05


def memory_summary(footprint: Footprint, doubled: Footprint, device: Device, batch: int) -> MemorySummary:
    """Return the footprint on a device; ``doubled`` is that of twice the batch: memory is linear in it."""
    context = _CONTEXT_BYTES[device.kind]
    total = _held(footprint, context)
    capacity = device.memory_bytes
    a_sample = max(1.0, (_held(doubled, context) - total) / batch)
    largest = None if capacity is None else max(0, int(batch + (capacity - total) // a_sample))
    return MemorySummary(
        weights_bytes=footprint.weights_bytes,
        gradients_bytes=footprint.gradients_bytes,
        optimizer_bytes=footprint.optimizer_bytes,
        activations_bytes=footprint.activations_bytes,
        other_bytes=total - footprint.total_bytes + footprint.other_bytes,
        total_bytes=total,
        capacity_bytes=capacity,
        fits=None if capacity is None else total <= capacity,
        largest_batch=largest,
    )


def _held(footprint: Footprint, context_bytes: int) -> int:
    return round(footprint.total_bytes * _FRAGMENTATION) + context_bytes
