"""A Custom layer of which nothing is said counts as no work, and the answers say so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

TEXT = "inputs: {{x: [8]}}\nlayers: [{{type: Custom, out_shape: [4]{said}, name: mine}}]\n"
SILENT = "says neither its FLOPs nor its bytes"


@pytest.mark.parametrize("command", [("layers", "-"), ("predict", "-", "-d", "t4")], ids=" ".join)
@pytest.mark.parametrize(("said", "is_silent"), [("", True), (", flops: 10", False), (", bytes: 0", False)])
def test_nothing_said_is_warned_of(
    estimator: Run, command: tuple[str, ...], said: str, *, is_silent: bool
) -> None:
    text = TEXT.format(said=said)
    assert (f"warning: layer mine is Custom and {SILENT}" in estimator(*command, stdin=text).out) is is_silent
    answer = json.loads(estimator(*command, "--format", "json", stdin=text).out)
    assert any(SILENT in warning for warning in answer["warnings"]) is is_silent
