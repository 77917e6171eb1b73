"""Where a detector reads from: files, environment, driver library, commands; each can be a recording."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.detect.nvml import NvmlLike
    from estimator.detect.tree import Tree
    from estimator.detect.windows_api import WindowsApi

# Runs a command for at most so many seconds; its output, or None if it is missing or fails.
Runner = Callable[[Sequence[str], float], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seams:
    """The outside world of one detection.

    ``live`` is this very host, whose own libraries may be loaded;
    ``cpu_count`` what its scheduler counts, for sandboxes that hide /proc and /sys, and ``affinity`` the
    CPUs that it leaves to this process.
    """

    tree: Tree
    environ: Mapping[str, str]
    nvml: NvmlLike | None = None
    run: Runner | None = None
    windows: WindowsApi | None = None
    system: str = "linux"
    live: bool = False
    cpu_count: int | None = None
    affinity: frozenset[int] | None = None

    def command(self, arguments: Sequence[str], deadline_s: float) -> str | None:
        """Return a command's output, None where there is no runner or it fails in any way."""
        if self.run is None:
            return None
        try:
            return self.run(arguments, deadline_s)
        except Exception:  # noqa: BLE001 - a runner given from outside may raise anything
            return None


def run_command(arguments: Sequence[str], deadline_s: float) -> str | None:
    """Run a system command by its full path and return its output; anything wrong is None."""
    program = shutil.which(arguments[0], path="/usr/sbin:/sbin:/usr/bin:/bin") or shutil.which(arguments[0])
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - fixed arguments of this package
            [program, *arguments[1:]], capture_output=True, timeout=deadline_s, check=False, text=True,
            errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout if done.returncode == 0 or done.stdout else None
