"""Names for the weights of layers that other layers are made of."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.layers.tape import Tape


@contextmanager
def scope(tape: Tape, name: str) -> Iterator[None]:
    """Put ``name.`` before the name of each weight declared inside, as torch.nn names submodules."""
    start = len(tape.weights)
    yield
    tape.weights[start:] = [replace(w, name=f"{name}.{w.name}") for w in tape.weights[start:]]
