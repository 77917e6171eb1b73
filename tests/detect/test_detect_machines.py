"""Every recorded machine gives exactly the answer that stands in its file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from estimator.app.host import host_devices
from estimator.hardware.architecture import DeviceKind
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from estimator.detect import HostFacts

MACHINES = sorted((Path(__file__).parent.parent / "machines").glob("*.yaml"))


def fact(host: object, path: str) -> object:
    """Return the fact at ``cpu.sockets`` or ``gpus.0.name`` or ``cpu.caches.L3``; lists by ``len``.

    ``fp32`` is the peak rate of a device's vector units.
    """
    value: Any = host
    for step in path.split("."):
        if step == "len":
            value = len(value)
        elif step.isdigit():
            value = value[int(step)]
        elif step == "fp32":
            value = value.peaks.vector[DType.FP32]
        elif isinstance(value, Mapping):
            value = value[step]
        elif re.fullmatch(r"L[123]d?", step):
            found = [c for c in value if c.level == int(step[1]) and c.kind in {"data", "unified"}]
            value = sum(c.size_bytes * c.instances for c in found) or None
        else:
            value = getattr(value, step)
    return list(value) if isinstance(value, tuple) else value


@pytest.mark.parametrize("path", MACHINES, ids=[path.stem for path in MACHINES])
def test_recorded_machine(path: Path, detect_machine: Callable[[Mapping[str, Any]], HostFacts]) -> None:
    machine = yaml.safe_load(path.read_text(encoding="utf-8"))
    host = detect_machine(machine)
    expected = machine["expect"]
    got = {name: fact(host, name) for name in expected}
    assert got == {name: pytest.approx(v) if isinstance(v, float) else v for name, v in expected.items()}
    said = [
        f"{f.what} | {f.why}" for f in host.findings + tuple(f for gpu in host.gpus for f in gpu.findings)
    ]
    for pattern in machine.get("findings", ()):
        assert any(re.search(pattern, text) for text in said), (pattern, said)
    for pattern in machine.get("no_findings", ()):
        assert not any(re.search(pattern, text) for text in said), (pattern, said)


@pytest.mark.parametrize("path", MACHINES, ids=[path.stem for path in MACHINES])
def test_devices_of_a_recorded_machine(
    path: Path, detect_machine: Callable[[Mapping[str, Any]], HostFacts]
) -> None:
    """What is predicted for is what the facts say: the file's figures, and as many cores as are usable."""
    machine = yaml.safe_load(path.read_text(encoding="utf-8"))
    host = detect_machine(machine)
    found = host_devices(host)
    expected = machine.get("devices", {})
    got = {name: fact(found.devices, name) for name in expected}
    near = {name: pytest.approx(v, rel=0.005) if isinstance(v, float) else v for name, v in expected.items()}
    assert got == near
    said = [f"{f.what} | {f.why}" for f in found.findings]
    for pattern in machine.get("device_findings", ()):
        assert any(re.search(pattern, text) for text in said), (pattern, said)
    for cpu in (device for device in found.devices if device.kind is DeviceKind.CPU):
        assert cpu.all_units == host.cpu.usable_cores
        if host.cpu.lanes is not None and host.cpu.usable_cores == host.cpu.physical_cores:
            assert cpu.lanes == host.cpu.lanes


def test_there_are_forty() -> None:
    assert len(MACHINES) >= 40
