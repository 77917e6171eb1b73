"""Measures one recorded call by running it again on the meta device: FLOPs and bytes of what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from estimator.convert.torch_scale import PerSample
from estimator.convert.torch_trace import Ref, import_torch, tensors_in

if TYPE_CHECKING:
    from estimator.convert.torch_scale import Scaled
    from estimator.convert.torch_trace import Call, Torch


class Meter:
    """FLOPs of products by torch's formulas, and bytes of every operation (each operand once)."""

    def __init__(self) -> None:
        self.flops = 0
        self.bytes = 0

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
        self.flops += formula(*args, **kwargs, out_val=out) if formula else 0


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
