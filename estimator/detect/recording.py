"""A recorded host in one file: files, environment, driver and command answers, as ``doctor`` writes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from estimator.detect.nvml import RecordedNvml
from estimator.detect.seams import Seams
from estimator.detect.tree import RecordedTree
from estimator.detect.windows_api import WindowsApi
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from estimator.detect.nvml import NvmlLike

SCHEMA = "estimator/host-record/1"
MAX_RECORD_BYTES = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a detection read: ``commands`` maps a command line to its output."""

    system: str = "linux"
    files: Mapping[str, str] = field(default_factory=dict)
    listings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    nvml: Mapping[str, Any] | None = None
    windows: Mapping[str, Any] | None = None

    def seams(self, *, environ: Mapping[str, str] | None = None, nvml: NvmlLike | None = None) -> Seams:
        """Return seams that answer from the record; an environment or NVML given goes before its own."""
        recorded = RecordedNvml(self.nvml) if self.nvml is not None else None
        return Seams(
            tree=RecordedTree(self.files, self.listings),
            environ=environ if environ is not None else self.environ,
            nvml=nvml if nvml is not None else recorded,
            run=lambda arguments, _deadline_s: self.commands.get(" ".join(arguments)),
            windows=_windows(self.windows) if self.windows is not None else None,
            system=self.system,
        )


def load_recording(path: Path) -> Recording:
    """Read a recorded host; raises InputError with what is wrong with the file."""
    record = _load_mapping(path)
    nvml, windows = record.get("nvml"), record.get("windows")
    return Recording(
        system=str(record.get("system", "linux")),
        files=_texts(record, "files", path),
        listings=_lists(record, "listings", path),
        environ=_texts(record, "environ", path),
        commands=_texts(record, "commands", path),
        nvml=nvml if isinstance(nvml, dict) else None,
        windows=windows if isinstance(windows, dict) else None,
    )


def load_nvml(path: Path) -> RecordedNvml:
    """Read recorded NVML answers: a file that holds them alone, or a whole host under ``nvml``."""
    record = _load_mapping(path)
    inner = record.get("nvml")
    return RecordedNvml(inner if isinstance(inner, dict) else record)


def _load_mapping(path: Path) -> dict[str, Any]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    hint = "give a file that `estimator doctor` wrote"
    try:
        if path.stat().st_size > MAX_RECORD_BYTES:
            raise InputError(f"{path} is too large for a host record", hint=hint)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the host record {path}: {error}", hint=hint) from error
    try:
        # An alias can blow a small file up to fill the memory; a record has none.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
            raise InputError(f"{path} is not a host record: aliases are not allowed", hint=hint)
        record = yaml.load(text, Loader=loader)  # noqa: S506 - it is the safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a host record: {str(error).splitlines()[0]}", hint=hint) from error
    if not isinstance(record, dict):
        raise InputError(f"{path} is not a host record: no mapping at the top", hint=hint)
    return record


def _texts(record: Mapping[str, Any], key: str, path: Path) -> dict[str, str]:
    found = record.get(key) or {}
    if not isinstance(found, dict):
        raise InputError(f"{path}: {key} is no mapping of names to texts")
    return {str(name): value if isinstance(value, str) else str(value) for name, value in found.items()}


def _lists(record: Mapping[str, Any], key: str, path: Path) -> dict[str, list[str]]:
    found = record.get(key) or {}
    if not isinstance(found, dict) or not all(isinstance(names, list) for names in found.values()):
        raise InputError(f"{path}: {key} is no mapping of directories to lists of names")
    return {str(name): [str(entry) for entry in names] for name, names in found.items()}


def _windows(record: Mapping[str, Any]) -> WindowsApi:
    processor, affinity, displays = (record.get(k) for k in ("processor", "group_affinity", "displays"))
    total, available = record.get("total_bytes"), record.get("available_bytes")
    features = record.get("features")
    return WindowsApi(
        processor=processor if isinstance(processor, dict) else {},
        processor_information=_bytes(record.get("processor_information")),
        features=frozenset(str(name) for name in features) if isinstance(features, list) else frozenset(),
        total_bytes=total if isinstance(total, int) and total > 0 else None,
        available_bytes=available if isinstance(available, int) and available > 0 else None,
        group_affinity={
            group: mask
            for group, mask in (affinity.items() if isinstance(affinity, dict) else ())
            if isinstance(group, int) and isinstance(mask, int) and mask > 0
        },
        displays=tuple(d for d in displays if isinstance(d, dict)) if isinstance(displays, list) else (),
    )


def _bytes(text: object) -> bytes:
    try:
        return bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        return b""
