"""Reading this host, or a recorded one, for any command that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from estimator.detect.facts import HostFacts

_LIVE = Path("/")
Nvml = Annotated[
    Path | None, typer.Option("--nvml", help="recorded answers of an NVIDIA driver, as doctor writes them")
]


def host_facts(root: Path | None, nvml: Path | None = None) -> HostFacts:
    """Return the facts of this machine, or of the recorded tree or record at ``root``.

    ``nvml`` is a file with recorded answers of an NVIDIA driver.
    """
    from estimator.detect import detect_host
    from estimator.detect.recording import load_nvml

    return detect_host(root=root or _LIVE, nvml=load_nvml(nvml) if nvml else None)
