"""Records the PyTorch calls a module's forward makes, on the meta device: no weights, no arithmetic."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from estimator.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

Torch = Any  # the package, its tensors and modules: it is optional, so it has no types here


@dataclass(frozen=True, slots=True)
class Ref:
    """Stands for a recorded value among a call's arguments."""

    index: int


@dataclass(slots=True)
class Value:
    """A tensor seen during the trace.

    ``parameter`` is its name in the module if it is one; ``constant`` says that nothing but buffers and
    numbers went into it; ``alias`` that it is a view of another value's memory.
    """

    index: int
    shape: tuple[int, ...]
    dtype: str
    parameter: str | None = None
    trainable: bool = True
    constant: bool = False
    alias: bool = False


@dataclass(slots=True)
class Call:
    """One call of the PyTorch API, or of a leaf module (then ``module`` is it).

    ``scope`` are the module calls it happened in, outermost first, as indices of the trace's ``scopes``.
    """

    function: str
    path: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[int, ...]
    constant: bool = False
    in_place: bool = False
    scope: tuple[int, ...] = ()
    module: Torch = None
    run: Callable[..., Any] | None = None


@dataclass(slots=True)
class Trace:
    """What a forward did, in order.

    ``modules`` are the paths of the modules that ran, ``scopes`` their calls with the name of their class.
    """

    values: list[Value] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    modules: set[str] = field(default_factory=set)
    scopes: list[tuple[str, str]] = field(default_factory=list)


def import_torch() -> Torch:
    """Return the torch package, or raise MissingPackageError."""
    try:
        import torch
    except ImportError:
        raise MissingPackageError(
            "converting PyTorch modules needs PyTorch", hint="pip install 'estimator[torch]'"
        ) from None
    return torch


def tensors_in(thing: object) -> Iterator[Torch]:
    """Give all tensors in nested tuples, lists and mappings."""
    if isinstance(thing, (tuple, list)):
        for item in thing:
            yield from tensors_in(item)
    elif isinstance(thing, dict):
        for item in thing.values():
            yield from tensors_in(item)
    elif isinstance(thing, import_torch().Tensor):
        yield thing


# Functions whose result is like their first argument: on the meta device PyTorch runs them as long chains
# of operations, which would take most of a trace's time.
SAME_SHAPE = frozenset(
    f"torch.nn.functional.{name}" for name in ("batch_norm", "layer_norm", "group_norm", "rms_norm", "gelu")
)

RECURRENT = frozenset({"torch.lstm", "torch.gru", "torch.rnn_tanh", "torch.rnn_relu"})

# Functions that take from a tensor only its shape, number format and place.
_CONSTANT_MAKERS = frozenset(
    {"new_zeros", "new_ones", "new_full", "new_empty", "new_tensor", "zeros_like", "ones_like", "full_like",
     "empty_like"}
)  # fmt: skip


class Recorder:
    """Follows tensors by identity while a module runs inside ``with recorder:``.

    ``leaves`` names the module classes (``package.module.Class``) that are recorded as one call.
    """

    def __init__(self, module: Torch, leaves: frozenset[str]) -> None:
        self.torch = import_torch()
        self.trace = Trace()
        self.leaves = leaves
        self.module = module
        self._stack: list[int] = []
        self._in_leaf = False
        self._alive: list[Torch] = []  # keeps identities unique
        self._known: dict[int, int] = {}
        self._paths = {id(child): path for path, child in module.named_modules()}
        self._parameters = {id(p): name for name, p in module.named_parameters()}
        self._buffers = {id(b) for b in module.buffers()}
        self._mode = _mode(self)
        self._original: Any = None

    def __enter__(self) -> Self:
        """Start to record: calls through a function mode, modules by wrapping their call."""
        base = self.torch.nn.Module
        self._original = original = base.__call__
        recorder = self

        def call(module: Torch, *args: object, **kwargs: object) -> object:
            return recorder.run_module(module, args, kwargs, original)

        base.__call__ = call
        self._mode.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        """Put everything back."""
        self._mode.__exit__(*exception)
        self.torch.nn.Module.__call__ = self._original

    def value(self, tensor: Torch, *, constant: bool | None = None, alias: bool = False) -> int:
        """Return the index of a tensor's value; ``constant`` given makes a new one (a result)."""
        key = id(tensor)
        if constant is None and key in self._known:
            return self._known[key]
        index = len(self.trace.values)
        name = self._parameters.get(key)
        self.trace.values.append(
            Value(
                index,
                tuple(int(size) for size in tensor.shape),
                str(tensor.dtype).removeprefix("torch."),
                name,
                bool(tensor.requires_grad) if name else True,
                (name is None) if constant is None else constant,
                alias,
            )
        )
        self._known[key] = index
        self._alive.append(tensor)
        return index

    def run_module(self, module: Torch, args: Any, kwargs: Any, run: Callable[..., Any]) -> object:  # noqa: ANN401
        """Run a module under its path; leaf modules become one call."""
        path = self._paths.get(id(module), self._path())
        name = f"{type(module).__module__}.{type(module).__qualname__}"
        self.trace.modules.add(path)
        self._stack.append(len(self.trace.scopes))
        self.trace.scopes.append((path, type(module).__name__))
        try:
            if name in self.leaves and not self._in_leaf:
                self._in_leaf = True
                try:
                    return self.record(name, args, kwargs, module.forward, module)
                finally:
                    self._in_leaf = False
            return run(module, *args, **kwargs)
        finally:
            self._stack.pop()

    def run_function(self, function: Callable[..., Any], args: Any, kwargs: Any) -> object:  # noqa: ANN401
        """Run one PyTorch call, and write it down unless it stands inside a leaf module."""
        if self._in_leaf:
            return function(*args, **kwargs)
        name = self.torch.overrides.resolve_name(function) or getattr(function, "__name__", str(function))
        if name.endswith("__get__"):
            name = name.removesuffix(".__get__")
        return self.record(name, args, kwargs, function, None)

    def record(
        self,
        name: str,
        args: Any,  # noqa: ANN401
        kwargs: Any,  # noqa: ANN401
        function: Callable[..., Any],
        module: Torch,
    ) -> object:
        """Run a call; write it down if it made or changed tensors."""
        given = list(tensors_in((args, kwargs)))
        indices = [self.value(t) for t in given]
        versions = [t._version for t in given]  # noqa: SLF001 - the only sign of a write in place
        packed_args, packed_kwargs = self._pack(tuple(args)), self._pack(dict(kwargs))
        result = self._result(name, function, args, kwargs)
        ours = self.trace.values
        changed = [
            t for t, v in zip(given, versions, strict=True)
            if t._version != v and id(t) not in self._buffers  # noqa: SLF001
        ]  # fmt: skip
        identities = {id(t) for t in given}
        made = [t for t in tensors_in(result) if id(t) not in identities]
        if module is None and not made and not changed:
            return result
        constant = module is None and (
            name.rsplit(".", 1)[-1] in _CONSTANT_MAKERS or all(ours[i].constant for i in indices)
        )
        memory = {_memory(t) for t in given}
        if module is not None:
            made, changed = list(tensors_in(result)), []
        outputs = tuple(
            self.value(t, constant=constant, alias=_memory(t) in memory) for t in made or changed[:1]
        )
        self.trace.calls.append(
            Call(
                name, self._path(), packed_args, packed_kwargs, outputs, constant,
                in_place=bool(changed and not made), scope=tuple(self._stack), module=module, run=function,
            )
        )  # fmt: skip
        return result

    def _result(self, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:  # noqa: ANN401
        """Run a call, or make its result where that is quicker and the shape is known."""
        if name in SAME_SHAPE and args:
            return self.torch.empty_like(args[0])
        if name in RECURRENT:
            return _recurrent(self.torch, name, args)
        return function(*args, **kwargs)

    def _path(self) -> str:
        return self.trace.scopes[self._stack[-1]][0] if self._stack else ""

    def _pack(self, thing: Any) -> Any:  # noqa: ANN401
        if isinstance(thing, self.torch.Tensor):
            return Ref(self.value(thing))
        if isinstance(thing, (tuple, list)):
            return tuple(self._pack(item) for item in thing)
        if isinstance(thing, dict):
            return {key: self._pack(item) for key, item in thing.items()}
        return thing


def _recurrent(torch: Torch, name: str, args: tuple[Any, ...]) -> tuple[Torch, ...]:
    """Return outputs and last states of a stack of recurrent layers, which meta would run step by step."""
    x, states = args[0], args[1] if isinstance(args[1], tuple | list) else (args[1],)
    width = states[0].shape[-1] * (2 if args[7] else 1)
    out = torch.empty((*x.shape[:2], width), dtype=x.dtype, device=x.device)
    last = tuple(torch.empty_like(state) for state in states)
    return (out, *last) if name == "torch.lstm" else (out, last[0])


def _memory(tensor: Torch) -> int:
    return int(tensor.untyped_storage()._cdata)  # noqa: SLF001 - meta tensors have no data_ptr


def _mode(recorder: Recorder) -> Torch:
    """Return a function mode that hands every call to ``recorder``."""

    class Mode(recorder.torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(
            self,
            func: Callable[..., Any],
            types: object,
            args: tuple[Any, ...] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> object:
            return recorder.run_function(func, args, dict(kwargs or {}))

    return Mode()


def _on_meta(thing: Any) -> Any:  # noqa: ANN401 - arguments of any call
    """Return arguments with real tensors (but not numbers) replaced by meta ones."""
    torch = import_torch()
    if isinstance(thing, torch.Tensor):
        return thing.to("meta") if thing.dim() else thing
    if isinstance(thing, (tuple, list)):
        return type(thing)(_on_meta(item) for item in thing)
    if isinstance(thing, dict):
        return {key: _on_meta(item) for key, item in thing.items()}
    return thing


@contextmanager
def quick() -> Iterator[None]:
    """Run modules on the meta device inside this context with the functions of SAME_SHAPE cut short."""
    torch = import_torch()
    short = {getattr(torch.nn.functional, name.rsplit(".", 1)[-1]) for name in SAME_SHAPE}

    class Quick(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(
            self,
            func: Callable[..., Any],
            types: object,
            args: tuple[Any, ...] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> object:
            return torch.empty_like(args[0]) if func in short and args else func(*args, **(kwargs or {}))

    with Quick():
        yield


def trace(module: Torch, inputs: tuple[Torch, ...], leaves: frozenset[str]) -> Trace:
    """Return the calls of ``module(*inputs)``; inputs and parameters must be on the meta device."""
    recorder = Recorder(module, leaves)
    indices = tuple(recorder.value(tensor, constant=False) for tensor in inputs)
    with recorder.torch.no_grad(), recorder:
        result = module(*inputs)
    found = recorder.trace
    found.inputs = indices
    found.outputs = tuple(recorder.value(tensor) for tensor in tensors_in(result))
    return found


# Factories of parameters; everything else (linspace, arange, tensor) keeps real values while building,
# because modules read them (drop rates, index tables).
_FACTORIES = ("empty", "zeros", "ones", "randn", "rand", "full")


_INITIALISERS = (
    "normal_", "uniform_", "erfinv_", "mul_", "add_", "clamp_", "fill_", "zero_", "copy_",
)  # fmt: skip


@contextmanager
def weightless() -> Iterator[None]:
    """Build modules inside this context without memory for weights: factories make meta tensors."""
    torch = import_torch()
    factories = frozenset(getattr(torch, name) for name in _FACTORIES)
    skipped = frozenset(getattr(torch.Tensor, name) for name in _INITIALISERS)

    class Weightless(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(
            self,
            func: Callable[..., Any],
            types: object,
            args: tuple[Any, ...] = (),
            kwargs: Mapping[str, Any] | None = None,
        ) -> object:
            given = dict(kwargs or {})
            if func in factories and str(given.get("device") or "cpu") == "cpu":
                given["device"] = "meta"
            if func in skipped and args and args[0].device.type == "meta":
                return args[0]  # values of weights are never looked at
            devices = {t.device.type for t in tensors_in((args, given))}
            if devices == {"meta", "cpu"} and not func.__name__.startswith("__"):
                args, given = _on_meta(args), _on_meta(given)
            return func(*args, **given)

    with Weightless():
        yield
