"""Whether profiles make sense: references, sources, order of peaks, agreement with the datasheet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.catalog.architectures import build_architecture
from estimator.catalog.catalogue import current_catalogue
from estimator.catalog.devices import bandwidth_bytes_per_s, build_device
from estimator.catalog.names import words
from estimator.catalog.profile_keys import ARCHITECTURE, DEVICE
from estimator.catalog.reading import checked, location, read_file
from estimator.catalog.records import Records
from estimator.catalog.site_keys import INTERCONNECT
from estimator.catalog.sources import Sources
from estimator.document import MapNode
from estimator.errors import CombinedInputError, InputError, suggestion
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from estimator.catalog.records import Record
    from estimator.document import Node
    from estimator.errors import Location
    from estimator.hardware.device import Device

DATASHEET_TOLERANCE = 0.015
_CLOCKS = {"gpu": ("boost_clock_mhz",), "cpu": ("all_core_clock_mhz", "base_clock_mhz")}
_UNSOURCED = frozenset({"format", "id", "name", "vendor", "kind", "aliases", "stands_for", "note", "sources"})
# A narrower format is never slower on the same unit.
_NOT_FASTER = (
    (DType.FP64, DType.FP32),
    (DType.TF32, DType.FP16),
    (DType.TF32, DType.BF16),
    (DType.FP16, DType.FP8),
    (DType.FP8, DType.FP4),
)


def check_profile(path: Path) -> tuple[InputError, ...]:
    """Return everything wrong with a profile of one's own, each with file, line and column.

    The kind of profile is told by its keys: ``units`` makes a device, ``fma_per_clock`` an architecture,
    ``bus_gb_per_s`` an interconnect. Devices may name any architecture in reach.
    """
    try:
        node = read_file(path)
        kind = profile_kind(node)
        table, what = {
            "devices": (DEVICE, "device"),
            "architectures": (ARCHITECTURE, "architecture"),
            "interconnects": (INTERCONNECT, "interconnect"),
        }[kind]
        record = checked(node, table, what)
    except CombinedInputError as error:
        return error.errors
    except InputError as error:
        return (error,)
    own = Records()
    getattr(own, kind)[record["id"]] = record
    known = current_catalogue().records
    errors = check_records(own, known.updated(own))
    return tuple(_placed(error, node) for error in errors)


def profile_kind(node: Node) -> str:
    """Return the folder a parsed profile belongs in, told by its keys; InputError where none fits."""
    keys = set(node.keys()) if isinstance(node, MapNode) else set()
    for key, kind in (
        ("fma_per_clock", "architectures"),
        ("bus_gb_per_s", "interconnects"),
        ("units", "devices"),
    ):
        if key in keys:
            return kind
    raise InputError(
        "this is no hardware profile",
        at=location(node),
        hint="a device has 'units', an architecture 'fma_per_clock', an interconnect 'bus_gb_per_s'",
    )


class _KeyedError(InputError):
    """An error of one key of one profile, whose place is found when the text is at hand."""

    def __init__(self, record: Mapping[str, Any], key: str, message: str, hint: str | None = None) -> None:
        super().__init__(f"{record['id']}: {message}", hint=hint)
        self.key = key


def _placed(error: InputError, node: Node) -> InputError:
    """Put an error at the key it speaks of."""
    if not isinstance(error, _KeyedError):
        return error
    known = isinstance(node, MapNode) and node.get(error.key) is not None
    at: Location = location(node, error.key if known else None)
    return InputError(error.message, at=at, hint=error.hint)


def check_records(records: Records, within: Records | None = None) -> list[InputError]:
    """Return what is wrong with profiles that are well formed; ``within`` is all they may refer to."""
    within = within or records
    sources = Sources(within.sources)
    errors: list[InputError] = []
    kinds = (records.architectures, records.devices, records.interconnects)
    for record in (one for kind in kinds for one in kind.values()):
        errors += _check_sources(record, sources)
    for record in records.architectures.values():
        errors += _check_rates(record)
    for record in records.devices.values():
        errors += _check_device(record, within, sources)
    errors += _check_names(records, within)
    for key, record in records.instances.items():
        for name in (record["device"], record.get("cpu", record["device"])):
            if name not in within.devices:
                errors.append(InputError(f"instance {key} names the unknown device {name!r}"))
        if record["source"] not in within.sources:
            errors.append(InputError(f"instance {key} cites the unknown source {record['source']!r}"))
    for label, record in records.labels.items():
        device = record.get("device")
        if (device is None) == ("unresolvable" not in record) or (device and device not in within.devices):
            errors.append(InputError(f"label {label!r} needs a known device, or the reason why it has none"))
    return errors


def _check_sources(record: Record, sources: Sources) -> list[InputError]:
    errors: list[InputError] = []
    entries = record["sources"]
    for key, entry in entries.items():
        if key != "default" and key not in record:
            errors.append(_KeyedError(record, "sources", f"a source for {key!r}, which is not there"))
        try:
            sources.resolve(entry)
        except InputError as error:
            errors.append(_KeyedError(record, "sources", error.message, error.hint))
    if "default" not in entries:
        bare = sorted(set(record) - _UNSOURCED - set(entries))
        errors += [
            _KeyedError(record, key, f"{key} has no source", "add it under 'sources', or a 'default'")
            for key in bare
        ]
    return errors


def _check_rates(record: Record) -> list[InputError]:
    errors: list[InputError] = []
    units = record["fma_per_clock"]
    for unit, rates in units.items():
        for slow, fast in _NOT_FASTER:
            # Only matrix units are held to it: consumer Pascal computes fp16 at 1/64 of fp32.
            if unit != "vector" and slow in rates and fast in rates and rates[slow] > rates[fast]:
                errors.append(_KeyedError(record, "fma_per_clock", f"{unit} {slow} is faster than {fast}"))
    errors += [
        _KeyedError(record, "fma_per_clock", f"{dtype} accumulating in fp16 is slower than in fp32")
        for dtype, rate in units.get("matrix_narrow", {}).items()
        if rate < units.get("matrix", {}).get(dtype, 0)
    ]
    if "fp32" not in units.get("vector", {}) and not units.get("matrix"):
        errors.append(_KeyedError(record, "fma_per_clock", "no rate is given"))
    return errors


def _check_device(record: Record, within: Records, sources: Sources) -> list[InputError]:
    errors: list[InputError] = []
    names = [record["architecture"]]
    names += [record["efficiency_cores"]["architecture"]] if "efficiency_cores" in record else []
    for name in names:
        if name not in within.architectures:
            hint = suggestion(name, within.architectures)
            errors.append(_KeyedError(record, "architecture", f"unknown architecture {name!r}", hint))
    if not any(key in record for key in _CLOCKS[record["kind"]]):
        wanted = " or ".join(_CLOCKS[record["kind"]])
        errors.append(_KeyedError(record, "units", f"needs {wanted}"))
    if bandwidth_bytes_per_s(record) is None and ("memory_bus_bits" in record or "memory_channels" in record):
        errors.append(
            _KeyedError(record, "units", "needs the transfer rate of its memory", "or bandwidth_gb_per_s")
        )
    if errors:
        return errors
    built = {name: build_architecture(within.architectures[name], sources) for name in names}
    if built[names[0]].kind != record["kind"]:
        return [_KeyedError(record, "architecture", f"{names[0]} is no {record['kind']} architecture")]
    try:
        device = build_device(record, built, sources)
    except InputError:
        return []  # an unknown source, reported above
    return _check_datasheet(record, device)


def datasheet_figure(device: Device, name: str) -> float | None:
    """Return the derived peak in FLOP/s for a figure's name (``fp16_matrix``, ``fp16_matrix_narrow``)."""
    dtype, _, unit = name.partition("_")
    if unit != "matrix_narrow":
        peaks = device.peaks.vector if unit == "vector" else device.peaks.matrix
        return peaks.get(DType(dtype))
    rate = device.architecture.matrix_narrow.get(DType(dtype))
    clock_hz = device.matrix_clock_hz or device.clock_hz * device.architecture.matrix_clock_scale
    return None if rate is None else device.units * rate * 2 * clock_hz


def _check_datasheet(record: Record, device: Device) -> list[InputError]:
    errors: list[InputError] = []
    for name, stated in device.datasheet_peaks.items():
        derived = datasheet_figure(device, name)
        if derived is None or abs(derived / stated - 1) > DATASHEET_TOLERANCE:
            got = "nothing" if derived is None else f"{derived / 1e12:.4g}"
            message = f"{name} is {stated / 1e12:.4g} TFLOP/s by the datasheet, {got} by units and clock"
            hint = "dense figures only; is the clock the boost clock, and are units SMs or CUs?"
            errors.append(_KeyedError(record, "datasheet_peaks_tflops", message, hint))
    return errors


def _check_names(records: Records, within: Records) -> list[InputError]:
    """No name may stand for two devices."""
    owners: dict[tuple[str, ...], str] = {}
    errors: list[InputError] = []
    for id_, record in within.devices.items():
        for name in (id_, record["name"], *record.get("aliases", ()), *record.get("stands_for", ())):
            owner = owners.setdefault(words(name), id_)
            if owner != id_ and (id_ in records.devices or owner in records.devices):
                mine = id_ if id_ in records.devices else owner
                other = owner if mine == id_ else id_
                key = "aliases" if "aliases" in records.devices[mine] else "name"
                errors.append(_KeyedError(records.devices[mine], key, f"{name!r} also names {other}"))
    return errors
