"""Measures one recorded call by running it again on the meta device: FLOPs and bytes of what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.torch_formulas import closed_form
from estimator.convert.torch_scale import PerSample
from estimator.convert.torch_trace import Ref, import_torch, tensors_in

if TYPE_CHECKING:
    from estimator.convert.torch_scale import Scaled
    from estimator.convert.torch_trace import Call, Torch


class Meter:
    """FLOPs by formulas, and bytes of every operation (each operand once).

    ``flops`` are those of products and of what has a closed form; ``elements`` one for each element that
    comes out of any operation; ``known`` says that all operations have a formula or go element by element.
    """

    def __init__(self) -> None:
        self.flops = 0
        self.bytes = 0
        self.elements = 0
        self.known = True

    def mode(self) -> Torch:
        """Return the context to run in."""
        from torch.utils._python_dispatch import TorchDispatchMode

        meter = self

        class Counting(TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(
                self,
                func: Any,  # noqa: ANN401 - an operator
                types: object,
                args: Any = (),  # noqa: ANN401
                kwargs: Any = None,  # noqa: ANN401
            ) -> object:
                out = func(*args, **(kwargs or {}))
                meter.add(func, args, kwargs or {}, out)
                return out

        return Counting()

    def add(self, func: Any, args: Any, kwargs: Any, out: object) -> None:  # noqa: ANN401
        """Count one operator; views are free."""
        from torch.utils.flop_counter import flop_registry

        if func.is_view:
            return
        results = list(tensors_in(out))
        self.bytes += sum(t.numel() * t.element_size() for t in (*tensors_in(args), *results))
        formula = flop_registry.get(func.overloadpacket)
        if formula:
            self.flops += formula(*args, **kwargs, out_val=out)
            return
        name = func.overloadpacket.__name__
        work = closed_form(name, args, results[0]) if results else None
        if work is not None:
            self.flops += round(work)
            return
        self.elements += max((t.numel() for t in results), default=0)
        self.known = self.known and _is_plain(func, name)

    @property
    def work(self) -> int:
        """FLOPs of the formulas, or where none applies one for each element."""
        return self.flops or self.elements


_PLAIN = frozenset(
    {"sum", "mean", "amax", "amin", "max", "min", "prod", "any", "all", "clone", "copy_", "_to_copy", "cat",
     "fill_", "index", "index_select", "gather", "roll", "flip", "repeat", "constant_pad_nd", "empty",
     "_conj", "_unsafe_view", "arange", "zeros", "scatter", "index_add", "scatter_add"}
)  # fmt: skip


def _is_plain(func: Any, name: str) -> bool:  # noqa: ANN401 - an operator
    """Tell whether an operator does about one operation for each element, or only moves them."""
    import torch

    return torch.Tag.pointwise in func.tags or name in _PLAIN


def measured(call: Call, scaled: Scaled) -> Meter:
    """Run a call again with tensors of the same shapes, and return what it took."""
    torch = import_torch()
    made: dict[int, Torch] = {}

    def rebuild(thing: Any) -> Any:  # noqa: ANN401 - arguments of any call
        if isinstance(thing, Ref):
            if thing.index not in made:
                value = scaled.trace.values[thing.index]
                made[thing.index] = torch.empty(value.shape, dtype=getattr(torch, value.dtype), device="meta")
            return made[thing.index]
        if isinstance(thing, PerSample):
            return thing.count * scaled.batch
        if isinstance(thing, tuple):
            return tuple(rebuild(item) for item in thing)
        if isinstance(thing, dict):
            return {key: rebuild(item) for key, item in thing.items()}
        return thing

    meter = Meter()
    if call.run is not None:
        args, kwargs = rebuild(call.args), rebuild(call.kwargs)
        with torch.no_grad(), meter.mode():
            call.run(*args, **kwargs)
    return meter
