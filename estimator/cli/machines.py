"""The systems a command is about, by the names they are called on the command line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from estimator.app.here import Grounds
    from estimator.app.request import Request
    from estimator.app.systems import NamedSystem
    from estimator.hardware.device import Device


def machines(
    request: Request, specs: Sequence[str], root: Path | None, *, first: bool = False
) -> dict[str, NamedSystem]:
    """Return the systems as named, one device each unless the name counts them; else this machine's.

    Those of this machine are called ``cpu`` and ``cuda:0``; with ``first`` only its GPU, if it has one.
    """
    from estimator.cli.answer import systems_for

    one = replace(request, devices=None, link=None)
    if specs:
        return {spec: systems_for(one, [spec], root)[0] for spec in specs}
    cpu, *gpus = systems_for(one, [], root)
    here = {"cpu": cpu} | {f"cuda:{index}": gpu for index, gpu in enumerate(gpus)}
    return {"cuda:0": gpus[0]} if first and gpus else {"cpu": cpu} if first else here


def ground_here(root: Path | None) -> Callable[[Device], Grounds]:
    """Return what tells what a prediction for a device rests on: what was measured here, if anything."""
    from estimator.app.here import Grounds, any_here, grounding
    from estimator.catalog.calibration import load_calibration
    from estimator.cli.host import host_facts

    if root is None and any_here():
        return grounding(host_facts(None), load_calibration())
    return lambda device: Grounds(device=device, calibration=load_calibration())
