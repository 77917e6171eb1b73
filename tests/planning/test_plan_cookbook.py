"""The cookbook's page is true: every command still answers what stands there, up to small changes."""

from __future__ import annotations

import importlib.util
import re
import shlex
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

    from tests.planning.conftest import Run

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "cookbook.md").read_text("utf-8")
NEAR = 1.35  # a figure of the first two lines may move by this before the page must be written anew
NUMBER = re.compile(r"[$€]?(?P<value>\d[\d,]*(?:\.\d+)?)(?P<unit>x|%)?")
UNITS = {
    "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "days": 86400.0, "weeks": 604800.0,
    "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cookbook", ROOT / "tools" / "cookbook.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BLOCKS = [(m["command"], m["output"]) for m in tool().BLOCK.finditer(PAGE)]


def read(line: str) -> tuple[list[str], list[float]]:
    """Return the words of a line without its figures, and the figures in base units."""
    words: list[str] = []
    figures: list[float] = []
    parts = [part.strip("(),;:.") for part in line.split()]
    for part, following in zip(parts, [*parts[1:], ""], strict=True):
        match = NUMBER.fullmatch(part)
        if match:
            figures.append(float(match["value"].replace(",", "")) * UNITS.get(following.split("/")[0], 1.0))
        elif part not in UNITS and not part.endswith("/h"):
            words.append(part)
    return words, figures


def headings(output: str) -> list[str]:
    """Return the headings of the tables."""
    lines = output.splitlines()
    return [" ".join(line.split()) for line, below in pairwise(lines) if below.startswith("──")]


def test_there_are_fifteen_questions() -> None:
    assert len(BLOCKS) == 15
    assert len(re.findall(r"^## \d+\. ", PAGE, re.MULTILINE)) == 15


@pytest.mark.parametrize(("command", "output"), BLOCKS, ids=[str(i + 1) for i in range(len(BLOCKS))])
def test_the_page_says_what_the_program_says(run: Run, command: str, output: str) -> None:
    now = run(*shlex.split(command)[1:]).output
    written = "; write the page anew with: make cookbook"
    assert headings(now) == headings(output), written
    for then, today in zip(output.splitlines()[:2], now.splitlines()[:2], strict=True):
        words, figures = read(then)
        words_now, figures_now = read(today)
        assert words_now == words, f"{then}\n{today}\n{written}"
        for before, after in zip(figures, figures_now, strict=True):
            assert before / NEAR <= after <= before * NEAR, f"{then}\n{today}\n{written}"


def test_the_reader_of_lines() -> None:
    words, figures = read("resnet50 on RTX 3090: 38.5 h in all (154 ms a step, 832 samples/s), 1.6x, $1,417")
    assert words == ["resnet50", "on", "RTX", "in", "all", "a", "step", "samples/s"]
    assert figures == pytest.approx([3090, 38.5 * 3600, 0.154, 832, 1.6, 1417])
