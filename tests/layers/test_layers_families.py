"""The index of layer types says where each of them is, and nothing of the others is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from estimator.layers import families
from estimator.layers.library import families_text


def test_the_index_is_current() -> None:
    shipped = Path(families.__file__).read_text(encoding="utf-8")
    assert shipped.partition("FAMILIES")[2] == families_text().partition("FAMILIES")[2]


def test_a_command_loads_only_the_families_it_needs() -> None:
    code = """
import io, sys
from estimator.app.source import open_network
open_network("lenet5", (), io.BytesIO())
print("estimator.layers.conv" in sys.modules, "estimator.layers.recurrent" in sys.modules)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert ran.stdout.split() == ["True", "False"]
