"""How a command leaves the program when it fails."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from estimator.cli.guard import guarded
from estimator.errors import MeasurementError


@guarded
def fails() -> None:
    raise MeasurementError("another process ended")


def leave_torch(monkeypatch: pytest.MonkeyPatch, *, in_group: bool) -> None:
    distributed = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: in_group)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(distributed=distributed))


def test_a_failure_leaves_by_the_interpreters_way_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_torch(monkeypatch, in_group=False)
    with pytest.raises(SystemExit) as left:
        fails()
    assert left.value.code == 3
    assert capsys.readouterr().err == "error: another process ended\n"


def test_a_failure_within_a_group_of_processes_takes_no_interpreter_down(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_torch(monkeypatch, in_group=True)
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    with pytest.raises(SystemExit):  # what stands after the way out that is replaced here
        fails()
    assert codes == [3]
    assert capsys.readouterr().err == "error: another process ended\n"
