"""Running the program as a user does: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """What came of one run."""

    code: int
    out: str
    err: str


class Run(Protocol):
    """Runs ``estimator`` with arguments."""

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Ran: ...


@pytest.fixture
def estimator(tmp_path: Path) -> Run:
    """Return a runner that works in an empty folder with an empty home."""

    def run(*arguments: str, stdin: str = "", **environment: str) -> Ran:
        clean = {
            k: v for k, v in os.environ.items() if not k.startswith(("ESTIMATOR_", "COLUMNS", "NO_COLOR"))
        }
        env = {**clean, "HOME": str(tmp_path), "PYTHONIOENCODING": "utf-8", **environment}
        done = subprocess.run(  # noqa: S603 - the program under test
            [sys.executable, "-m", "estimator", *arguments],
            input=stdin.encode(),
            capture_output=True,
            cwd=tmp_path,
            env=env,
            check=False,
        )
        encoding = env["PYTHONIOENCODING"].partition(":")[0]
        return Ran(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))

    return run
