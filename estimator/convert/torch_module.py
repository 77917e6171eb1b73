"""Converts a PyTorch module: traced on the meta device, translated call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Converted, Given
from estimator.convert.torch_leaves import LEAVES
from estimator.convert.torch_scale import scaled
from estimator.convert.torch_trace import import_torch, trace
from estimator.convert.torch_translate import translate
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.convert.torch_trace import Torch

BATCHES = (2, 3)


def convert(module: Torch, inputs: Sequence[Given], *, name: str, source: str = "") -> Converted:
    """Return the network of a module in training mode; ``inputs`` are its forward's, without the batch.

    The module is moved to the meta device. Raises InputError when its forward cannot run there or depends
    on the batch in another way than by size.
    """
    torch = import_torch()
    module = module.to("meta")
    torch_inputs = {batch: _inputs(torch, inputs, batch) for batch in BATCHES}
    try:
        module.train()
        first, second = (trace(module, torch_inputs[b], LEAVES) for b in BATCHES)
        module.eval()
        evaluated = trace(module, torch_inputs[BATCHES[0]], LEAVES).modules
        module.train()
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"the forward of {name} fails on the meta device: {type(error).__name__}: {error}",
            hint="a forward that looks at values cannot be traced",
        ) from error
    marked = scaled(first, second, BATCHES)
    state = translate(marked, list(inputs), frozenset(first.modules - evaluated))
    outputs = [state.output(index) for index in first.outputs]
    return Converted(
        name=name, inputs=list(inputs), entries=state.entries, outputs=outputs, source=source, gaps=state.gaps,
        scopes=first.scopes,
    )  # fmt: skip


def _inputs(torch: Torch, inputs: Sequence[Given], batch: int) -> tuple[Any, ...]:
    return tuple(
        torch.empty((batch, *given.shape), dtype=getattr(torch, given.dtype), device="meta")
        for given in inputs
    )
