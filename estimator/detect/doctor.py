"""A record of all that a detection read, fit to paste into a bug report and to detect again."""

from __future__ import annotations

import getpass
import json
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import estimator
from estimator.detect import apple_gpu
from estimator.detect.host import detect_with, open_seams
from estimator.detect.nvml import load_binding
from estimator.detect.nvml_recorder import NvmlRecorder
from estimator.detect.recording import SCHEMA
from estimator.detect.redact import Redactor
from estimator.detect.tree import RecordingTree, parse_integer
from estimator.detect.virtual import VIRTUAL_PRODUCTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from estimator.detect.nvml import NvmlLike
    from estimator.detect.seams import Seams
    from estimator.detect.windows_api import WindowsApi

_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS",
)  # fmt: skip
_DEVICE_MASKS = frozenset({"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})
# Lines of files that hold more than a detection uses.
_KEPT_LINES = {
    "/proc/meminfo": re.compile(r"MemTotal:|MemAvailable:"),
    "/proc/self/status": re.compile(r"Cpus_allowed_list:"),
    "/proc/self/mountinfo": re.compile(r".* - cgroup2? "),
}
# Repeated for each of hundreds of CPUs; the first one's is read.
_ONCE = frozenset({"flags", "Features", "model name", "vendor_id", "cpu family", "model", "stepping"})
_CPUINFO_KEYS = _ONCE | {
    "processor", "cpu MHz", "cpu MHz dynamic", "clock", "physical id", "core id", "cpu cores", "siblings",
    "cache size", "CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision",
    "Processor", "Hardware", "Model", "cpu", "cpu model", "isa", "uarch", "mvendorid", "marchid", "mimpid",
}  # fmt: skip
_S390_RECORD = re.compile(r"processor [0-9]+")
# Everywhere but here the names of directories are those of control groups.
_GIVEN = re.compile(r"/(?:proc|usr|etc)/|/sys/(?!fs/cgroup)")
_GROUP_LISTS = frozenset({"/proc/self/cgroup", "/proc/self/mountinfo"})
_PRODUCT = "/sys/class/dmi/id/product_name"
_PCI = "/sys/bus/pci/devices/"
_DISPLAY_CLASSES = frozenset({0x03, 0x12})
_PROCESSOR_VALUES = ("ProcessorNameString", "Identifier", "VendorIdentifier", "~MHz")
_DISPLAY_VALUES = ("DriverDesc", "MatchingDeviceId", "HardwareInformation.qwMemorySize", "DriverVersion")
_APPLE_VALUES = ("_name", "sppci_model", "sppci_cores", "spdisplays_vendor", "spdisplays_vram")
_AMD_NAMES = "/usr/share/libdrm/amdgpu.ids"


def write_record(
    *,
    root: Path = Path("/"),
    environ: Mapping[str, str] | None = None,
    nvml: NvmlLike | None = None,
    seams: Seams | None = None,
    names: Iterable[str] | None = None,
) -> str:
    """Detect a host and return what was read as YAML text, without names, serial numbers and UUIDs.

    ``names`` are the texts to take out (default: this user's and this host's).
    """
    seams = seams or open_seams(root=root, environ=environ, nvml=nvml)
    return dump(record_host(seams, names=_own_names() if names is None else names))


def record_host(seams: Seams, *, names: Iterable[str]) -> dict[str, Any]:
    """Detect through recording seams and return the record as plain data."""
    tree = RecordingTree(seams.tree)
    library = seams.nvml if seams.nvml is not None or not seams.live else load_binding()[0]
    nvml = NvmlRecorder(library) if library is not None else None
    commands: dict[str, str] = {}

    def run(arguments: Sequence[str], deadline_s: float) -> str | None:
        text = seams.command(arguments, deadline_s)
        if text is not None:
            commands[" ".join(arguments)] = text
        return text

    detect_with(replace(seams, tree=tree, nvml=nvml, run=run))
    redactor = Redactor(names)
    record: dict[str, Any] = {
        "schema": SCHEMA,
        "tool_version": estimator.__version__,
        "system": seams.system,
        "nvml": _nvml(nvml.record, redactor) if nvml is not None else None,
        "environ": {
            name: redactor.mask(seams.environ[name])
            if name in _DEVICE_MASKS
            else redactor.text(seams.environ[name])
            for name in _VARIABLES
            if name in seams.environ
        },
        "commands": {name: redactor.text(_command(name, text)) for name, text in commands.items()},
        "windows": _windows(seams.windows) if seams.windows is not None else None,
        **_files(tree, redactor),
    }
    return {key: value for key, value in record.items() if value not in (None, {}, [])}


def dump(record: Mapping[str, Any]) -> str:
    """Return a record as YAML, texts of several lines as blocks."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Write texts of several lines as literal blocks."""

    def text(dumper: Any, value: str) -> Any:  # noqa: ANN401 - PyYAML's own untyped nodes
        style = "|" if "\n" in value.rstrip("\n") else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    Dumper.ignore_aliases = lambda _dumper, _value: True  # type: ignore[assignment,method-assign]
    written: str = yaml.dump(dict(record), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
    return written


def _own_names() -> set[str]:
    """Return this user's and this host's names."""
    found = {socket.gethostname(), socket.gethostname().partition(".")[0]}
    try:
        found.add(getpass.getuser())
        found.add(Path.home().name)
    except (KeyError, OSError, RuntimeError):
        return found
    return found


def _nvml(value: object, redactor: Redactor, key: str = "") -> object:
    """Return NVML's answers with device UUIDs replaced."""
    if isinstance(value, dict):
        return {name: _nvml(item, redactor, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_nvml(item, redactor, key) for item in value]
    if isinstance(value, str):
        return redactor.gpu(value) if key.startswith("nvmlDeviceGetUUID") else redactor.text(value)
    return value


def _files(tree: RecordingTree, redactor: Redactor) -> dict[str, Any]:
    """Return files and listings, cut to what a detection uses."""
    files = {path: text for path, text in tree.files.items() if not _is_other_pci(path, tree)}
    ids = {
        match for text in files.values() for match in re.findall(r"^device_id ([0-9]+)$", text, re.MULTILINE)
    }
    kept = {
        _path(path, redactor): _text(path, _cut(path, text, ids), redactor) for path, text in files.items()
    }
    listings = {}
    for path, names in tree.listings.items():
        named = {
            _path(f"{path}/{name}", redactor).rpartition("/")[2]
            for name in names
            if not _is_other_pci(f"{path}/{name}/class", tree)
        }
        where = _path(path, redactor)
        implied = {p[len(where) + 1 :].partition("/")[0] for p in kept if p.startswith(where + "/")}
        if named - implied:
            listings[where] = sorted(named - implied)
    return {"files": kept, "listings": listings}


def _path(path: str, redactor: Redactor) -> str:
    """Return a file's name without people's words: below the control groups they give the names."""
    return redactor.path(path) if _GIVEN.match(path) else redactor.group(path)


def _text(path: str, text: str, redactor: Redactor) -> str:
    """Return a file's text without people's words."""
    if path in _GROUP_LISTS:
        return re.sub(r"/[^\s:]*", lambda match: redactor.group(match[0]), text)
    if path == _PRODUCT:
        # Of the name only what tells a virtual machine: people write their own into the firmware's.
        return next((name for name in VIRTUAL_PRODUCTS if name in text.lower()), "")
    return redactor.path(text)


def _is_other_pci(path: str, tree: RecordingTree) -> bool:
    """Say whether a file belongs to a device on the bus that is no display or accelerator."""
    if not path.startswith(_PCI):
        return False
    address = path[len(_PCI) :].partition("/")[0]
    number = parse_integer(tree.files.get(f"{_PCI}{address}/class"))
    return number is None or number >> 16 not in _DISPLAY_CLASSES


def _cut(path: str, text: str, device_ids: set[str]) -> str:
    """Return the lines of a file that a detection uses."""
    if path == "/proc/cpuinfo":
        return _cut_cpuinfo(text)
    if path == "/proc/version":
        return "microsoft\n" if "microsoft" in text.lower() else "Linux\n"
    kept = _KEPT_LINES.get(path)
    if path == _AMD_NAMES:
        wanted = "|".join(f"{int(number):x}" for number in device_ids) or "none"
        kept = re.compile(rf"(?:0x)?0*(?:{wanted}),", re.IGNORECASE)
    lines = [line for line in text.splitlines() if kept is None or kept.match(line)]
    # One line without its end reads better than a block; tabs would make YAML quote the whole text.
    return "\n".join(lines).replace("\t", " ") + ("\n" if len(lines) > 1 else "")


def _cut_cpuinfo(text: str) -> str:
    """Return cpuinfo with the keys that tell processors apart; what all CPUs share stands once."""
    lines: list[str] = []
    first: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = (part.strip() for part in line.partition(":"))
        repeated = key in _ONCE and key in first and first[key] == value
        if key and (repeated or (key not in _CPUINFO_KEYS and not _S390_RECORD.fullmatch(key))):
            continue
        first.setdefault(key, value)
        lines.append(f"{key}: {value}" if colon else "")
    return "".join(line + "\n" for line in lines)


def _command(name: str, text: str) -> str:
    """Return a command's output without what it tells of monitors."""
    if name != " ".join(apple_gpu.COMMAND):
        return text
    displays = apple_gpu.displays(text)
    return json.dumps(
        {"SPDisplaysDataType": [{k: d[k] for k in _APPLE_VALUES if k in d} for d in displays]}, default=str
    )


def _windows(api: WindowsApi) -> dict[str, Any]:
    return {
        "processor": {name: api.processor[name] for name in _PROCESSOR_VALUES if name in api.processor},
        "processor_information": api.processor_information.hex(),
        "features": sorted(api.features),
        "total_bytes": api.total_bytes,
        "available_bytes": api.available_bytes,
        "group_affinity": dict(api.group_affinity),
        "displays": [{name: d[name] for name in _DISPLAY_VALUES if name in d} for d in api.displays],
    }
