"""Devices as arrays: for each class of kernels, what each of many devices attains on it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.hardware.efficiency import Regime, Scale
from estimator.precision import DType
from estimator.predict.factors import library_factors, software_factors, time_factor_key
from estimator.predict.keys import library_kinds, library_speed, regime_key, winograd_key
from estimator.predict.paths import is_unaligned, path_of, vector_formats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration, SoftwareFactors
    from estimator.predict.table import Category
    from estimator.software import Software

    Floats = NDArray[np.float64]

_NO_SCALE = Scale()
_NO_WINOGRAD = Regime(compute=0.0, memory=0.0, depth=0.0)
_V100_BYTES_PER_CLOCK = 7.35  # an SM's share of the bandwidth
_V100_FEED_BYTES = 1024.0  # 512 fp16 multiply-adds a clock
_POWER_YEAR = 2016
_THREADED_UNITS = frozenset({"SM", "SMX", "SMM", "CU", "Xe-core", "GPU core"})


class Column(NamedTuple):
    """What D devices attain on one class of kernels: rates in FLOP/s and bytes/s, each of length D.

    ``winograd_*`` are those of the Winograd path, 0 where there is none.
    """

    compute: Floats
    memory: Floats
    depth: Floats
    order: NDArray[np.intp]
    step_s: Floats
    matrix: NDArray[np.bool_]
    winograd_compute: Floats
    winograd_memory: Floats
    winograd_depth: Floats


class _Paths(NamedTuple):
    """The distinct units some devices multiply a format on, which of them each uses, and its FLOP/s."""

    names: tuple[str, ...]
    which: NDArray[np.intp]
    attained: Floats


class Picker:
    """Columns of all classes stacked, then taken by kernel; each is worked out once."""

    def __init__(self, columns: list[Column], category: NDArray[np.intp]) -> None:
        self._columns = columns
        self._category = category
        self._found: dict[str, Floats] = {}

    def __call__(self, name: str) -> Floats:
        """Return one column of the classes, ``(K, D)``; it is not to be written to."""
        if name not in self._found:
            stacked: Floats = np.stack([getattr(column, name) for column in self._columns]).astype(np.float64)
            self._found[name] = stacked[self._category]
        return self._found[name]

    def is_of(self, category: NDArray[np.intp]) -> bool:
        """Tell whether the kernels are the ones this was made for."""
        return self._category is category


@dataclass(frozen=True)
class Fleet:
    """GPUs under one software and calibration; columns are worked out once for each class of kernels."""

    devices: tuple[Device, ...]
    software: Software
    calibration: Calibration

    def __post_init__(self) -> None:
        """Refuse devices this model cannot speak of."""
        for device in self.devices:
            if device.kind is not DeviceKind.GPU:
                message = f"{device.id} is not a GPU"
                raise ValueError(message)
            bandwidth_of(device)
        for name in ("_columns", "_paths_known", "_gains"):
            object.__setattr__(self, name, {})

    @cached_property
    def pickers(self) -> dict[tuple[Category, ...], Picker]:
        """What was last worked out for the kernels of one network, by the classes they were taken for."""
        return {}

    def new_picker(self, categories: tuple[Category, ...], category: NDArray[np.intp]) -> Picker:
        """Return the columns of the kernels of a network, kept in place of those of another one."""
        if not all(picker.is_of(category) for picker in self.pickers.values()):
            self.pickers.clear()
        self.pickers[categories] = Picker([self.column(each) for each in categories], category)
        return self.pickers[categories]

    @cached_property
    def factors(self) -> SoftwareFactors:
        """What the framework and its era do."""
        return software_factors(self.calibration, self.software)

    @cached_property
    def units(self) -> tuple[Floats, NDArray[np.intp]]:
        """Return the distinct unit counts, and for each device the index of its own."""
        values, index = np.unique([device.units for device in self.devices], return_inverse=True)
        return values, index

    @cached_property
    def launch_s(self) -> Floats:
        """Seconds a kernel costs on each device beside its work."""
        base = self.calibration.gpu.launch_s
        return np.array([
            base * float(np.prod([scale.launch for scale in scales_of(device, self.calibration)]))
            for device in self.devices
        ])  # fmt: skip

    @cached_property
    def cache_bytes(self) -> Floats:
        """Bytes of last-level cache of each device, 0 where unknown."""
        return np.array([max(device.cache_bytes.values(), default=0) for device in self.devices], dtype=float)

    def column(self, category: Category) -> Column:
        """Return what each device attains on a class of kernels."""
        columns: dict[Category, Column] = self.__dict__["_columns"]
        if category not in columns:
            columns[category] = self._column(category)
        return columns[category]

    def _column(self, category: Category) -> Column:
        paths = self._paths(category)
        known, layout = self.calibration.gpu.regimes, self.software.layout
        regimes = [known[regime_key(known, category, name, layout)] for name in paths.names]
        fast = [self._winograd(category, name) or _NO_WINOGRAD for name in paths.names]
        gain = self._gain(category)

        def of(entries: list[Regime], figure: str) -> Floats:
            return np.array([getattr(entry, figure) for entry in entries])[paths.which]

        compute, memory = paths.attained * gain, self._bandwidth * gain
        return Column(
            compute=compute * of(regimes, "compute"),
            memory=memory * of(regimes, "memory"),
            depth=of(regimes, "depth"),
            order=of(regimes, "order").astype(np.intp),
            step_s=of(regimes, "step_s"),
            matrix=np.array([name == "matrix" for name in paths.names])[paths.which],
            winograd_compute=compute * of(fast, "compute"),
            winograd_memory=memory * of(fast, "memory"),
            winograd_depth=of(fast, "depth"),
        )

    @cached_property
    def _scales(self) -> list[tuple[Scale, ...]]:
        return [scales_of(device, self.calibration) for device in self.devices]

    @cached_property
    def _bandwidth(self) -> Floats:
        """Bytes/s each device draws with the requests its units keep in flight."""
        flight = self.calibration.gpu.flight_bytes_per_clock
        drawn = [bandwidth_of(device) * flight_share(device, flight) for device in self.devices]
        return np.array(drawn) * [prod(scale.memory for scale in scales) for scales in self._scales]

    @cached_property
    def _sustained(self) -> Floats:
        return np.array([sustained_share(device, self.calibration) for device in self.devices])

    def _paths(self, category: Category) -> _Paths:
        """Return the units the devices run a class of kernels on, and the FLOP/s they attain there."""
        known: dict[tuple[DType, tuple[DType, ...], bool], _Paths] = self.__dict__["_paths_known"]
        dtype = category.dtype if category.dtype.is_floating else DType.FP32
        key = (dtype, vector_formats(category), is_unaligned(category))
        if key not in known:
            paths = [path_of(device, category, self.software.era) for device in self.devices]
            names = tuple(dict.fromkeys(path.name for path in paths))
            feed = self.calibration.gpu.feed
            attained = [
                path.peak
                * path.share
                * prod(path.scale(scale) for scale in scales)
                * (feed_share(device, dtype, feed) if path.name == "matrix" else 1.0)
                for path, device, scales in zip(paths, self.devices, self._scales, strict=True)
            ]
            which = np.array([names.index(path.name) for path in paths])
            known[key] = _Paths(names, which, np.array(attained) * self._sustained)
        return known[key]

    def _gain(self, category: Category) -> Floats:
        """Return how much faster a class of kernels runs by device and by release of the libraries."""
        known: dict[tuple[str, ...], Floats] = self.__dict__["_gains"]
        key = (category.kind, *library_kinds(category))
        if key not in known:
            releases: dict[int | None, float] = {}
            for device in self.devices:
                year = device.architecture.year
                if year not in releases:
                    factors = library_factors(self.calibration, self.software, device, category.stem)
                    entry = time_factor_key(factors, category.kind, self.software.layout)
                    releases[year] = factors.time * (factors.kinds[entry] if entry else 1.0)
            own = [prod(library_speed(scale, category)[1] for scale in scales) for scales in self._scales]
            known[key] = np.array(own) / [releases[device.architecture.year] for device in self.devices]
        return known[key]

    def _winograd(self, category: Category, path: str) -> Regime | None:
        usable = category.kind == "conv" and path == "vector" and self.factors.winograd
        return self.calibration.gpu.regimes.get(winograd_key(category)) if usable else None


def bandwidth_of(device: Device) -> float:
    """Return the memory bandwidth in bytes/s; unknown is an error, never a guess."""
    if not device.bandwidth_bytes_per_s:
        raise InputError(
            f"the memory bandwidth of {device.name} is not known",
            hint="write bandwidth_gb_per_s into its profile",
        )
    return device.bandwidth_bytes_per_s


def scales_of(device: Device, calibration: Calibration) -> tuple[Scale, ...]:
    """Return what vendor, architecture and device attain relative to all, outermost first."""
    return (
        calibration.vendors.get(device.vendor.lower(), _NO_SCALE),
        calibration.architectures.get(device.architecture.id, _NO_SCALE),
        calibration.devices.get(device.id, _NO_SCALE),
    )


def sustained_share(device: Device, calibration: Calibration) -> float:
    """Return the share of its peak a board keeps up under its power limit; 1 where none is known."""
    gpu, year = calibration.gpu, device.architecture.year
    peak = device.peaks.vector.get(DType.FP32)
    if gpu.power_w_per_tflop <= 0 or device.power_limit_w is None or year is None or not peak:
        return 1.0
    needed_w = gpu.power_w_per_tflop * 0.5 ** ((year - _POWER_YEAR) / gpu.power_halving_years) * peak / 1e12
    return float(min(1.0, (device.power_limit_w / needed_w) ** gpu.power_exponent))


def flight_share(device: Device, flight_bytes_per_clock: float) -> float:
    """Return the bandwidth a device's units reach with the requests they keep in flight, V100 = 1.

    Accelerators of a few large units stream by DMA: they have no such limit.
    """
    if flight_bytes_per_clock <= 0 or device.architecture.unit_name not in _THREADED_UNITS:
        return 1.0
    each = bandwidth_of(device) / (device.units * device.clock_hz)
    return (1.0 + _V100_BYTES_PER_CLOCK / flight_bytes_per_clock) / (1.0 + each / flight_bytes_per_clock)


def feed_share(device: Device, dtype: DType, feed: float) -> float:
    """Return how well the matrix units of a device are fed from its threads' registers, V100 = 1."""
    if device.architecture.unit_name not in _THREADED_UNITS:
        return 1.0
    rate = device.peaks.matrix[dtype] / (2 * device.units * device.clock_hz)
    return float((rate * dtype.itemsize / _V100_FEED_BYTES) ** -feed)
