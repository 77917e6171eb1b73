"""Processor time is limited as a user would meet it: the program searches for cycles rarely."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from estimator.cli.main import COLLECT_AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def collected_as_the_program() -> Iterator[None]:
    """Collect garbage as the program does, whatever other tests have left to look through."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER)
    yield
    gc.set_threshold(*before)
