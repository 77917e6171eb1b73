"""The systems a command is about, by the names they are called on the command line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from estimator.app.request import Request
    from estimator.app.systems import NamedSystem


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


def quoted(name: str) -> str:
    """Return a name as it is typed in a shell."""
    return f'"{name}"' if " " in name else name
