"""What can make training slower (or faster) than expected: each cause predicts the step it would lead to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from estimator.app.request import on_kind
from estimator.catalog.cpu_parts import with_cores
from estimator.catalog.lookup import resolve_device
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.device import derive_peaks
from estimator.networks.lowering import lower
from estimator.precision import POLICIES, DType
from estimator.predict.step import estimate_step
from estimator.units import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration
    from estimator.hardware.system import System
    from estimator.networks.graph import Network
    from estimator.networks.training import Training
    from estimator.predict.estimate import StepEstimate
    from estimator.workload.workload import Workload

    Cause: TypeAlias = Callable[["Situation", float], "Suspicion | None"]

# Assumptions of the arithmetic, which each cause states where it uses them.
_JPEGS_A_WORKER = 100.0  # decoding and cropping photographs to 224 pixels, one core
_IMAGE_FILE_BYTES = 110e3  # ImageNet's mean
_HARD_DISK_BYTES_PER_S = 150e6
_SLOW_HOST = 3.0
_THROTTLED = 0.7
_NARROW_LINK = 4.0  # x4 where x16 was meant
_SMALL_FAULTS = 1 << 20
_SMALLEST_PHOTOGRAPH = 64  # pixels; MNIST, CIFAR and the like are smaller
_IMAGE = 3  # dimensions of an image without the batch
_SSE_BITS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """A cause with the factor it would multiply the time by, and where the factor comes from."""

    name: str
    factor: float
    arithmetic: str
    check: str


@dataclass(frozen=True, kw_only=True)
class Situation:
    """The run as it is meant to be; ``again`` predicts it with something changed."""

    network: Network
    training: Training
    system: System
    calibration: Calibration
    workload: Workload
    coverage: float
    measured_here: bool

    @cached_property
    def step(self) -> StepEstimate:
        """The expected step."""
        return self._estimate(self.workload, self.system, self.training, self.calibration)

    @property
    def device(self) -> Device:
        """The device of the system."""
        return self.system.device

    @property
    def on_gpu(self) -> bool:
        """Whether it runs on a GPU."""
        return self.device.kind is DeviceKind.GPU

    def again(
        self,
        *,
        system: System | None = None,
        training: Training | None = None,
        calibration: Calibration | None = None,
    ) -> StepEstimate | None:
        """Return the step under other circumstances, None where the device cannot do it."""
        try:
            workload = self.workload if training is None else lower(self.network, training)
            return self._estimate(
                workload, system or self.system, training or self.training, calibration or self.calibration
            )
        except InputError:
            return None

    def _estimate(
        self, workload: Workload, system: System, training: Training, calibration: Calibration
    ) -> StepEstimate:
        return estimate_step(
            workload, system, software=training.software, policy=training.precision,
            calibration=calibration, coverage=self.coverage, measured_here=self.measured_here,
        )  # fmt: skip

    def compared(
        self, name: str, other: StepEstimate | None, why: str, check: str, scale: float = 1.0
    ) -> Suspicion | None:
        """Return a cause by the step it leads to; ``scale`` steps of it do the work of one."""
        if other is None:
            return None
        now, then = self.step.time.expected, other.time.expected * scale
        arithmetic = f"{why}: {format_seconds(then)} where {format_seconds(now)} are expected"
        return Suspicion(name=name, factor=then / now, arithmetic=arithmetic, check=check)


def _net(situation: Situation) -> str:
    return situation.network.name


def _photographs(situation: Situation) -> bool:
    """Tell whether inputs are images that are decoded one by one; data sets of small ones stay in memory."""
    return any(
        len(i.shape) == _IMAGE and min(i.shape[1:]) >= _SMALLEST_PHOTOGRAPH for i in situation.network.inputs
    )


def data_loader(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect a single worker that decodes images slower than the network takes them."""
    if ratio < 1 or not _photographs(situation):
        return None
    taken = situation.step.samples_per_s
    factor = taken / _JPEGS_A_WORKER
    return Suspicion(
        name="data loader with too few workers",
        factor=factor,
        arithmetic=(
            f"the network takes {taken:,.0f} images/s and got {taken / ratio:,.0f}; one worker decodes about "
            f"{_JPEGS_A_WORKER:.0f} photographs/s"
        ),
        check=f"estimator measure {_net(situation)} --data DIR",
    )


def disk(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect a hard disk or a network file system."""
    if ratio < 1 or not _photographs(situation):
        return None
    rate = _HARD_DISK_BYTES_PER_S / _IMAGE_FILE_BYTES
    taken = situation.step.samples_per_s
    return Suspicion(
        name="disk too slow",
        factor=taken / rate,
        arithmetic=(
            f"{taken:,.0f} images/s of {format_bytes(_IMAGE_FILE_BYTES)} are "
            f"{format_bytes(taken * _IMAGE_FILE_BYTES)}/s; a hard disk reads about "
            f"{format_bytes(_HARD_DISK_BYTES_PER_S)}/s in order, "
            f"{format_bytes(taken / ratio * _IMAGE_FILE_BYTES)}/s would explain all"
        ),
        check="iostat -x 1, while it trains: is the disk busy all the time?",
    )


def page_faults(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect an allocator that gives every large tensor back to the system."""
    del ratio
    if situation.on_gpu:
        return None
    cpu = situation.calibration.cpu
    faults = replace(cpu, fault_bytes=min(_SMALL_FAULTS, cpu.fault_bytes))
    other = situation.again(calibration=replace(situation.calibration, cpu=faults))
    why = f"tensors from {format_bytes(_SMALL_FAULTS)} up mapped afresh in every step"
    check = "LD_PRELOAD=libjemalloc.so.2 python train.py, or perf stat -e page-faults"
    return situation.compared("page faults of large tensors", other, why, check)


def single_precision(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect fp32 where mixed precision was meant, or the other way round."""
    del ratio
    if not situation.on_gpu:
        return None
    mixed = situation.training.precision.product.itemsize < 4  # noqa: PLR2004 - fp32's bytes
    policy = POLICIES.get("fp32" if mixed else "amp")
    other = situation.again(training=replace(situation.training, precision=policy))
    name = "fp32 instead of mixed precision" if mixed else "mixed precision instead of fp32"
    return situation.compared(
        name, other, f"predicted in {policy.name}", "print(torch.get_autocast_dtype('cuda')) within the step"
    )


def no_tf32(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect TF32 switched off (or on)."""
    del ratio
    now = situation.training.precision.name
    has_it = situation.device.peaks.best(DType.TF32) is not None
    if not situation.on_gpu or not has_it or now not in ("fp32", "tf32"):
        return None
    policy = POLICIES.get("fp32" if now == "tf32" else "tf32")
    other = situation.again(training=replace(situation.training, precision=policy))
    name = "TF32 is off" if now == "tf32" else "TF32 is on"
    check = "python -c 'import torch; print(torch.backends.cuda.matmul.allow_tf32)'"
    return situation.compared(name, other, f"predicted in {policy.name}", check)


def wrong_build(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect a CPU build of the framework on a GPU machine, or one without the wide vectors on a CPU."""
    del ratio
    check = "python -c 'import torch; print(torch.__version__, torch.cuda.is_available())'"
    if situation.on_gpu:
        host = resolve_device("EPYC 7742").device
        training = on_kind(situation.training, DeviceKind.CPU)
        system = replace(situation.system, device=host, count=1)
        other = situation.again(system=system, training=training)
        return situation.compared(
            "a CPU-only build: the GPU idles", other, f"predicted on {host.name}", check
        )
    device = situation.device
    bits = device.architecture.simd_bits
    if not bits or bits <= _SSE_BITS:
        return None
    share = _SSE_BITS / bits / 2  # and no fused multiply-add
    slow = replace(
        device,
        peaks=replace(device.peaks, vector={k: v * share for k, v in device.peaks.vector.items()}, matrix={}),
    )
    other = situation.again(system=replace(situation.system, device=slow))
    check = "python -c 'import torch; print(torch.backends.cpu.get_cpu_capability())'"
    return situation.compared(
        "a build without wide vectors", other, f"{_SSE_BITS} of {bits} bits, no FMA", check
    )


def throttled(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect heat or a power limit that keeps the clock down."""
    del ratio
    device = situation.device
    base = device.base_clock_hz
    share = base / device.clock_hz if base and base < device.clock_hz else _THROTTLED
    clock = device.clock_hz * share
    slow = replace(
        device,
        clock_hz=clock,
        peaks=derive_peaks(
            device.architecture, device.units, clock, efficiency_cores=device.efficiency_cores
        ),
    )
    other = situation.again(system=replace(situation.system, device=slow))
    why = f"the clock at {clock / 1e9:.2f} instead of {device.clock_hz / 1e9:.2f} GHz"
    check = (
        "nvidia-smi -q -d PERFORMANCE,POWER,CLOCK, while it trains"
        if situation.on_gpu
        else "watch grep MHz /proc/cpuinfo, while it trains"
    )
    return situation.compared("heat or a power limit", other, why, check)


def laptop_part(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect the laptop's chip of the same name."""
    del ratio
    if not situation.on_gpu or "laptop" in situation.device.name.lower():
        return None
    try:
        found = resolve_device(f"{situation.device.name} Laptop", strict=True).device
    except InputError:
        return None
    if found.id == situation.device.id:
        return None
    other = situation.again(system=replace(situation.system, device=found))
    return situation.compared(
        "the laptop part of that name",
        other,
        f"predicted on {found.name}",
        "nvidia-smi -q -d POWER: its limit",
    )


def small_batch(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect a batch an eighth as large: more steps, each with the same fixed cost."""
    del ratio
    batch = situation.training.batch
    small = max(1, batch // 8)
    if small == batch:
        return None
    other = situation.again(training=replace(situation.training, batch=small))
    why = f"{batch // small} steps of batch {small} for one of {batch}"
    check = f"estimator sweep {_net(situation)} --batch {small}..{batch}*2"
    return situation.compared("a smaller batch than meant", other, why, check, scale=batch / small)


def host_bound(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect a host that issues kernels slowly: an old CPU, Python work, .item() in every step."""
    del ratio
    if not situation.on_gpu:
        return None
    software = tuple(
        replace(entry, host_s=entry.host_s * _SLOW_HOST) for entry in situation.calibration.software
    )
    other = situation.again(calibration=replace(situation.calibration, software=software))
    why = f"each kernel issued {_SLOW_HOST:g} times as slowly"
    return situation.compared(
        "bound by its host",
        other,
        why,
        f"estimator measure {_net(situation)} --device cuda:0; nvidia-smi dmon: is sm below 90 %?",
    )


def one_thread(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect a framework that was left one thread."""
    del ratio
    if situation.on_gpu or situation.device.all_units <= 1:
        return None
    system = replace(situation.system, device=with_cores(situation.device, 1.0))
    other = situation.again(system=system)
    why = f"one core instead of {situation.device.all_units:g}"
    return situation.compared(
        "one thread, or other work on the cores", other, why,
        "python -c 'import torch; print(torch.get_num_threads())'; echo $OMP_NUM_THREADS; uptime",
    )  # fmt: skip


def data_parallel(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect DataParallel, which one process drives, instead of DistributedDataParallel."""
    del ratio
    count, step = situation.system.count, situation.step
    if count == 1:
        return None
    weights = situation.workload.footprint.weights_bytes
    link = situation.device.pcie.bytes_per_s if situation.device.pcie else 12e9
    exchange_s = 2 * (count - 1) * weights / link
    alone_s = step.time.expected - step.phases.communication_s
    launches_s = (count - 1) * step.bounds.launch_s
    factor = (alone_s + exchange_s + launches_s) / step.time.expected
    return Suspicion(
        name="DataParallel instead of DistributedDataParallel",
        factor=factor,
        arithmetic=(
            f"one process sends {format_bytes(weights)} of weights to {count - 1} devices and collects their "
            f"gradients in every step ({format_seconds(exchange_s)}), and issues all kernels itself"
        ),
        check="grep -n DataParallel train.py; torchrun --nproc-per-node N starts the other",
    )


def narrow_link(situation: Situation, ratio: float) -> Suspicion | None:
    """Suspect a slot with a quarter of the lanes."""
    del ratio
    link = situation.system.within
    if situation.system.count == 1 or link is None:
        return None
    narrow = replace(link, bus_bytes_per_s=link.bus_bytes_per_s / _NARROW_LINK)
    other = situation.again(system=replace(situation.system, within=narrow))
    why = f"{link.name} at a quarter of its rate"
    check = "nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv"
    return situation.compared("a narrow link between devices", other, why, check)


CAUSES: tuple[Cause, ...] = (
    data_loader, disk, page_faults, single_precision, no_tf32, wrong_build, throttled, laptop_part,
    small_batch, host_bound, one_thread, data_parallel, narrow_link,
)  # fmt: skip
