"""Converts a PyTorch module: traced on the meta device, translated call by call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Converted
from estimator.convert.torch_leaves import LEAVES
from estimator.convert.torch_scale import scaled, scaled_like
from estimator.convert.torch_trace import import_torch, trace
from estimator.convert.torch_translate import translate
from estimator.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from estimator.convert.entries import Given
    from estimator.convert.torch_trace import Torch

BATCHES = (2, 3)


def convert(
    module: Torch,
    inputs: Sequence[Given],
    *,
    name: str,
    source: str = "",
    auxiliary: bool = True,
    like: Converted | None = None,
) -> Converted:
    """Return the network of a module in training mode; ``inputs`` are its forward's, without the batch.

    The module is moved to the meta device. ``auxiliary`` looks for parts that run in training only;
    ``like`` is the same module at another image size, whose batch dimensions are taken over: one trace
    instead of two. Raises InputError when the forward cannot run on the meta device or depends on the
    batch in another way than by size.
    """
    torch = import_torch()
    module = module.to("meta").train()
    training_only: frozenset[str] = frozenset()
    try:
        first = trace(module, _inputs(torch, inputs, BATCHES[0]), LEAVES)
        if like is not None:
            marked = scaled_like(first, like.scaled)
        else:
            second = trace(module, _inputs(torch, inputs, BATCHES[1]), LEAVES)
            if [c.function for c in first.calls] != [c.function for c in second.calls]:
                first = trace(
                    module, _inputs(torch, inputs, BATCHES[0]), LEAVES
                )  # it keeps tables it has made
            marked = scaled(first, second, BATCHES)
        if auxiliary and like is None:
            ran = trace(module.eval(), _inputs(torch, inputs, BATCHES[0]), LEAVES).modules
            training_only = frozenset(first.modules - ran)
            module.train()
    except InputError:
        raise
    except Exception as error:
        raise _failed(name, inputs, error) from error
    state = translate(marked, list(inputs), training_only)
    outputs = [state.output(index) for index in first.outputs]
    return Converted(
        name=name, inputs=list(inputs), entries=state.entries, outputs=outputs, source=source,
        gaps=state.gaps,
        scopes=first.scopes, scaled=marked,
        output_shapes=[marked.trace.values[i].shape[1:] for i in first.outputs],
    )  # fmt: skip


_OF_VALUES = ("meta tensor", "meta device", "data-dependent", "'Meta' backend", ".item()")


def _failed(name: str, inputs: Sequence[Given], error: Exception) -> InputError:
    """Return the error of a forward that failed: it looks at values, or its inputs do not fit."""
    said = str(error).strip()
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    if isinstance(error, NotImplementedError) or any(word in said for word in _OF_VALUES):
        return InputError(
            f"the forward of {name} fails on the meta device: {what}",
            hint="a forward that looks at values cannot be traced",
        )
    shapes = ", ".join(f"{g.name} {'x'.join(str(size) for size in g.shape)} ({g.dtype})" for g in inputs)
    return InputError(
        f"the forward of {name} fails with {shapes}: {what}",
        hint="check --input: the shape of one sample, without the batch",
    )


def _inputs(torch: Torch, inputs: Sequence[Given], batch: int) -> tuple[Any, ...]:
    return tuple(
        torch.empty((batch, *given.shape), dtype=getattr(torch, given.dtype), device="meta")
        for given in inputs
    )
