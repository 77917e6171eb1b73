"""How the command that a screen proposes names networks, devices and files, so that a shell takes it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.results.prediction import DeviceSummary


def network_of(inputs: Mapping[str, object]) -> str:
    """Return the network of a result as it was asked for: a name, a file, ``-``.

    The name that a file gives itself is none that a command takes.
    """
    asked = inputs.get("network_file")
    return "NET" if asked is None else file_word(str(asked))


def file_word(asked: str) -> str:
    """Return a file, or a network as it was asked for, as one word of a command."""
    return shlex.quote(asked)


def device_word(name: str) -> str:
    """Return a device as one word of a command."""
    return f'"{name}"' if " " in name else name


def device_of(device: DeviceSummary) -> str:
    """Return a predicted device as ``--device`` takes it: one of this machine by what it is there."""
    if device.detected:
        return "cpu" if device.kind == "cpu" else "gpu"
    return device_word(f"{device.devices}x {device.name}" if device.devices > 1 else device.name)
