"""Writes the outputs on the cookbook's page anew: ``python tools/cookbook.py docs/cookbook.md``."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"```console\n\$ (?P<command>[^\n]+)\n(?P<output>.*?)```\n", re.DOTALL)
TODAY = "2025-06-01"  # the day ages of prices on the page count to


def answered(command: str) -> str:
    """Run a command of the page as a user does and return what it prints, errors too."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ESTIMATOR_")}
    environment |= {"ESTIMATOR_TODAY": TODAY, "PYTHONIOENCODING": "utf-8"}
    program, *arguments = shlex.split(command)
    if program != "estimator":
        message = f"not a command of the page: {command}"
        raise ValueError(message)
    ran = subprocess.run(  # noqa: S603 - commands of the project's own page
        [sys.executable, "-m", "estimator", *arguments],
        env=environment, capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    return ran.stdout + ran.stderr


def renewed(page: str) -> str:
    """Return the page with each command's output as it is now."""
    return BLOCK.sub(lambda m: f"```console\n$ {m['command']}\n{answered(m['command'])}```\n", page)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")
