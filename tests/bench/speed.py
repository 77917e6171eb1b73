"""How fast the program starts and answers, as ratios to importing typer, rich and numpy.

Run it with ``make bench``. Ratios within one run survive a change of machine; seconds do not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_RUNS = 7
_CASES: dict[str, Sequence[str]] = {
    "import typer, rich, numpy": ["-c", "import typer, rich, numpy"],
    "estimator --help": ["-m", "estimator", "--help"],
    "estimator detect": ["-m", "estimator", "detect"],
    "estimator layers resnet50": ["-m", "estimator", "layers", "resnet50"],
    "estimator predict resnet50": ["-m", "estimator", "predict", "resnet50", "--device", "v100-sxm2-16gb"],
    "estimator compare, 3 devices": [
        "-m", "estimator", "compare", "resnet50", "rtx-4090", "v100-sxm2-16gb", "t4",
    ],
    "estimator compare --all": ["-m", "estimator", "compare", "resnet50", "--all"],
}  # fmt: skip


def seconds(arguments: Sequence[str]) -> float:
    """Return the best of several runs of a whole process, with bytecode kept as installed."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        subprocess.run(  # noqa: S603
            [sys.executable, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL
        )
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print a line a case."""
    base = 0.0
    for name, arguments in _CASES.items():
        took = seconds(arguments)
        base = base or took
        print(f"{name:<32} {1000 * took:7.0f} ms   {took / base:5.2f} x")  # noqa: T201


if __name__ == "__main__":
    main()
