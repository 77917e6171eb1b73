"""Networks named ``torch:package.module:callable``: imported, called and converted."""

from __future__ import annotations

import importlib
import re
import sys
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Given
from estimator.convert.torch_module import convert
from estimator.convert.torch_trace import import_torch, weightless
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from estimator.convert.entries import Converted
    from estimator.convert.torch_trace import Torch

LARGEST_INPUT = 2**31 - 1  # elements of a sample: more is a slip of the keyboard, not an input


def torch_network(what: str, inputs: Sequence[str]) -> Converted:
    """Return the network of ``package.module:name``: a module, or a callable that makes one.

    Raises InputError for what is not there, fails or is no module.
    """
    import_torch()
    module_name, _, name = what.partition(":")
    if not module_name or not name:
        raise InputError(f"torch:{what} names no callable", hint="write torch:package.module:callable")
    if not inputs:
        raise InputError(
            "a PyTorch module does not say what it is called with",
            hint="add --input 3x224x224 (without the batch)",
        )
    names = ["x"] if len(inputs) == 1 else [f"x{n}" for n in range(1, len(inputs) + 1)]
    given = [read_input(name, text) for name, text in zip(names, inputs, strict=True)]
    module = _module(_imported(module_name, name), f"{module_name}:{name}")
    return convert(module, given, name=name, source=f"torch:{what}")


def _module(found: Any, what: str) -> Torch:  # noqa: ANN401 - whatever stands under a name
    """Return a module as it is, or what a callable makes. Raises InputError for anything else."""
    torch = import_torch()
    if isinstance(found, torch.nn.Module):
        return found
    with weightless():
        made = _run(
            found, f"{what} raised", "it is called without arguments: write a function that needs none"
        )
    if not isinstance(made, torch.nn.Module):
        raise InputError(f"{what} returned {type(made).__name__}, not a torch.nn.Module")
    return made


def _run(function: Callable[[], Any], what: str, on_type_error: str | None = None) -> Any:  # noqa: ANN401
    """Run other people's code; whatever leaves it becomes an InputError that names it."""
    try:
        return function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        message = str(error)
        text = f"{what} {type(error).__name__}" + (f": {message}" if message else "")
        hint = on_type_error if isinstance(error, TypeError) else None
        raise InputError(text, hint=hint) from error


def _imported(module_name: str, name: str) -> Any:  # noqa: ANN401 - whatever stands under a name
    """Import a module or callable from the working directory or an installed package."""
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        module = _run(lambda: importlib.import_module(module_name), f"cannot import {module_name!r}:")
    finally:
        if added and here in sys.path:
            sys.path.remove(here)
    found = getattr(module, name, None)
    if not callable(found):
        hint = suggestion(name, dir(module))
        raise InputError(f"{module_name} has no callable {name!r}", hint=hint)
    return found


_SHAPE = re.compile(r"(?:(?P<dtype>float32|float16|int64|int32|bool):)?(?P<sizes>\d{1,18}(?:x\d{1,18})*)")


def read_input(name: str, text: str) -> Given:
    """Return an input written as ``3x224x224`` or ``int64:128``. Raises InputError."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise InputError(f"--input: cannot read the input {text!r}", hint="write 3x224x224 or int64:128")
    shape = tuple(int(n) for n in match["sizes"].split("x"))
    if 0 in shape:
        raise InputError(f"--input: {text} has a size of 0", hint="write 3x224x224 or int64:128")
    if prod(shape) > LARGEST_INPUT:
        raise InputError(
            f"--input: {text} has {prod(shape):,} elements, more than the {LARGEST_INPUT:,} of an input",
            hint="give the shape of one sample",
        )
    return Given(name, shape, match["dtype"] or "float32")
