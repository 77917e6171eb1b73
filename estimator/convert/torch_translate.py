"""Turns recorded PyTorch calls into entries: the state of a translation and the table of translators."""

from __future__ import annotations

import importlib
from math import prod
from typing import TYPE_CHECKING, Any

from estimator.convert.entries import Entry, Gap, Source
from estimator.convert.torch_measure import measured
from estimator.convert.torch_trace import Ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from estimator.convert.entries import Given
    from estimator.convert.torch_scale import Scaled
    from estimator.convert.torch_trace import Call, Value

Translator = "Callable[[Translation, Call], None]"

TRANSLATORS: dict[str, Callable[[Translation, Call], None]] = {}


class UntranslatableError(Exception):
    """A call uses something that no layer has; it becomes Custom."""


def translates(
    *functions: str,
) -> Callable[[Callable[[Translation, Call], None]], Callable[[Translation, Call], None]]:
    """Register the translator of some functions, named as torch.overrides.resolve_name does."""

    def add(function: Callable[[Translation, Call], None]) -> Callable[[Translation, Call], None]:
        for name in functions:
            TRANSLATORS[name] = function
        return function

    return add


def load_translators() -> None:
    """Fill the table."""
    for name in ("norms", "pointwise", "reductions", "shapes", "attention", "leaves", "products"):
        importlib.import_module(f"estimator.convert.torch_{name}")


def arguments(call: Call, names: str) -> dict[str, Any]:
    """Return a call's arguments by name; ``names`` are those of the positional ones, in order."""
    return {**dict(zip(names.split(), call.args, strict=False)), **call.kwargs}


class Translation:
    """Entries made so far, and which of them (or which input) holds each value."""

    def __init__(self, scaled: Scaled, inputs: list[Given]) -> None:
        self.scaled = scaled
        self.trace = scaled.trace
        self.inputs = inputs
        self.entries: list[Entry] = []
        self.gaps: list[Gap] = []
        self.training_only: frozenset[str] = frozenset()
        self.scope: tuple[int, ...] = ()
        self._sources = {index: Source(i) for i, index in enumerate(self.trace.inputs)}
        self._calls: dict[tuple[Any, ...], int] = {}
        self._weights: dict[str, int] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def output(self, index: int) -> Source:
        """Return where an output of the network comes from."""
        return self.source(Ref(index))

    def value(self, ref: Ref) -> Value:
        """Return what is known of a value."""
        return self.trace.values[ref.index]

    def shape(self, ref: Ref) -> tuple[int, ...]:
        """Return a value's shape, with the batch of the trace."""
        return self.value(ref).shape

    def factors(self, ref: Ref) -> tuple[int, ...]:
        """Return by dimension which multiple of the batch it is."""
        return self.scaled.factors[ref.index]

    def flexible(self, ref: Ref) -> tuple[int, ...]:
        """Return a value's shape with -1 for the dimension that holds the batch."""
        return tuple(-1 if f else s for s, f in zip(self.shape(ref), self.factors(ref), strict=True))

    def parameter(self, thing: object) -> str | None:
        """Return the parameter's name, if that is what ``thing`` stands for."""
        return self.value(thing).parameter if isinstance(thing, Ref) else None

    def source(self, ref: Ref) -> Source:
        """Return where a value comes from; parameters and constants become entries when first needed."""
        if ref.index not in self._sources:
            value = self.value(ref)
            if value.parameter is not None:
                self._sources[ref.index] = self._parameter_entry(value)
            elif value.constant:
                self._sources[ref.index] = self._constant(ref, value)
            else:
                raise UntranslatableError(f"value {ref.index} was never made")
        return self._sources[ref.index]

    def _constant(self, ref: Ref, value: Value) -> Source:
        """Append a constant; one made for a batch is one for each sample."""
        factors = self.factors(ref)
        args: dict[str, Any] = {"shape": list(value.shape)}
        if value.dtype != "float32":
            args["dtype"] = value.dtype
        if not any(factors):
            return self._append(Entry(type="Constant", args=args))
        times, *others = factors
        if not times or any(others):
            raise UntranslatableError("a constant whose batch is not its first dimension")
        args["shape"] = [1, *([times] if times > 1 else []), *value.shape[1:]]
        source = self._append(Entry(type="Constant", args=args))
        source = self._append(Entry(type="PerSample", inputs=(source, Source(0))))
        if times == 1:
            return source
        return self._append(Entry(type="Flatten", args={"start_dim": 0, "end_dim": 1}, inputs=(source,)))

    def _parameter_entry(self, value: Value) -> Source:
        entry = self._new_parameter(value, list(value.shape))
        source = self._append(entry)
        self._weights.setdefault(value.parameter or "", len(self.entries) - 1)
        return source

    def _new_parameter(self, value: Value, shape: list[int]) -> Entry:
        name = value.parameter or ""
        return Entry(
            type="Parameter", args={"shape": shape}, path=name, trainable=value.trainable,
            tie=self._weights.get(name),
        )  # fmt: skip

    def _append(self, entry: Entry) -> Source:
        entry.scope = self.scope
        self.entries.append(entry)
        return Source(len(self.inputs) + len(self.entries) - 1)

    def emit(
        self,
        call: Call,
        kind: str,
        args: dict[str, Any],
        inputs: Iterable[Ref],
        weights: Iterable[object] = (),
    ) -> Source:
        """Append an entry whose outputs are the call's; ``weights`` are its parameters, first ``weight``.

        Raises UntranslatableError when a weight is not a parameter (something was computed with it).
        """
        names = []
        trainable = True
        for weight in weights:
            if weight is None:
                continue
            name = self.parameter(weight)
            if name is None:
                raise UntranslatableError("a weight that is computed")
            names.append(name)
            trainable = trainable and self.trace.values[weight.index].trainable  # type: ignore[attr-defined]
        entry = Entry(
            type=kind,
            args={k: v for k, v in args.items() if v is not None},
            inputs=tuple(self.source(ref) for ref in inputs),
            path=call.path,
            trainable=trainable,
            training_only=call.path in self.training_only,
        )
        if names:
            self._share(entry, tuple(names))
        source = self._append(entry)
        self.hold(call, source)
        return source

    def _share(self, entry: Entry, names: tuple[str, ...]) -> None:
        """Mark a second call of the same layer, or a weight that another layer owns."""
        key = (entry.type, repr(entry.args), names)
        if key in self._calls:
            entry.reuse = self._calls[key]
            return
        index = len(self.entries)
        self._calls[key] = index
        if names[0] in self._weights:
            entry.tie = self._weights[names[0]]
        for name in names:
            self._weights.setdefault(name, index)

    def step(self, call: Call, kind: str, args: dict[str, Any], inputs: Iterable[Source]) -> Source:
        """Append an intermediate entry: one call that takes several layers."""
        return self._append(
            Entry(
                type=kind, args=args, inputs=tuple(inputs), path=call.path,
                training_only=call.path in self.training_only,
            )
        )  # fmt: skip

    def hold(self, call: Call, source: Source) -> None:
        """Say that the call's outputs are those of an entry, one after another."""
        for output, index in enumerate(call.outputs):
            self._sources[index] = Source(source.index, source.output + output)

    def hold_one(self, call: Call, output: int, source: Source) -> None:
        """Say that one output of the call is that of an entry."""
        self._sources[call.outputs[output]] = source

    def same(self, call: Call, ref: Ref) -> None:
        """Say that a call does nothing: its output is ``ref``."""
        self._sources[call.outputs[0]] = self.source(ref)

    def unary(self, call: Call, kind: str, x: Ref) -> None:
        """Append an element-wise function of one tensor."""
        self.emit(call, kind, {}, [x])

    def is_number(self, thing: object) -> bool:
        """Tell whether an operand is a plain number, or a constant tensor of one."""
        if not isinstance(thing, Ref):
            return True
        value = self.value(thing)
        return value.constant and value.parameter is None and value.shape == ()

    def binary(self, call: Call, kind: str, x: object, y: object) -> None:
        """Append an element-wise function of two operands, of which one may be a number."""
        operands = [thing for thing in (x, y) if isinstance(thing, Ref) and not self.is_number(thing)]
        if not operands:
            raise UntranslatableError("an operation on numbers alone")
        if len(operands) == 2:  # noqa: PLR2004 - x and y
            if kind in ("Pow", "Atan2"):
                raise UntranslatableError("a function of two tensors")
            self.emit(call, kind, {}, operands)
            return
        first = operands[0] is x
        number = y if first else x
        value = float(number) if isinstance(number, int | float) and not isinstance(number, bool) else 1.0
        self._with_number(call, kind, operands[0], value, first=first)

    def _with_number(self, call: Call, kind: str, x: Ref, value: float, *, first: bool) -> None:
        """Append a tensor with a number; ``first`` says that the tensor is the left operand."""
        if kind == "Div" and not first:
            source = self.step(call, "Reciprocal", {}, [self.source(x)])
            if value != 1:
                source = self.step(call, "MulScalar", {"value": value}, [source])
            self.hold(call, source)
            return
        if kind == "Sub" and not first:
            self.emit(call, "MulScalar", {"value": -1.0}, [x])  # one kernel each way, as this has
        elif kind in ("Add", "Sub"):
            self.emit(call, "AddScalar", {"value": value if kind == "Add" else -value}, [x])
        elif kind in ("Mul", "Div"):
            self.emit(call, "MulScalar", {"value": value if kind == "Mul" or not value else 1 / value}, [x])
        elif kind == "Pow" and first:
            self.emit(call, "Square" if value == 2 else "Pow", {} if value == 2 else {"exponent": value}, [x])  # noqa: PLR2004 - a square
        elif kind == "Compare":
            self.emit(call, "Compare", {}, [x])
        elif kind in ("Maximum", "Minimum"):
            self.emit(call, "Clamp", {"min" if kind == "Maximum" else "max": value}, [x])
        else:
            raise UntranslatableError("this function of a tensor and a number")

    def per_sample(self, call: Call, x: Ref) -> None:
        """Append something without a batch (its first dimension is 1), once for each sample."""
        value = self.value(x)
        if value.parameter is not None and value.shape[0] == 1:
            entry = self._new_parameter(value, list(value.shape[1:]))
            entry.args["per_sample"] = True
            entry.inputs = (Source(0),)
            self.hold(call, self._append(entry))
            self._weights.setdefault(value.parameter, len(self.entries) - 1)
            return
        self.hold(call, self.step(call, "PerSample", {}, [self.source(x), Source(0)]))

    def leaf(self, call: Call, kind: str, args: dict[str, Any], inputs: Iterable[Source]) -> None:
        """Append the layer that a leaf module is, with all its parameters."""
        entry = Entry(
            type=kind, args=args, inputs=tuple(inputs), path=call.path,
            trainable=all(p.requires_grad for p in call.module.parameters()),
            training_only=call.path in self.training_only,
        )  # fmt: skip
        self._share(entry, tuple(f"{call.path}.{name}" for name, _ in call.module.named_parameters()))
        self.hold(call, self._append(entry))

    def custom(self, call: Call, reason: str) -> None:
        """Append a Custom entry with what the trace measured of the call."""
        outputs = [self.trace.values[i] for i in call.outputs]
        args: dict[str, Any] = {}
        factors = self.scaled.factors[outputs[0].index]
        rows = self._rows(call)  # that many first dimensions of the input a sample
        shape = list(_sample(outputs[0].shape, factors))
        if max(factors, default=0) > 1 and shape[0] % rows == 0:
            shape = [shape[0] // rows, *shape[1:]] if shape[0] > rows else shape[1:]
        args["out_shape"] = shape or [1]
        meter = measured(call, self.scaled)
        inputs, args["params"] = self._custom_inputs(call)
        samples = self.scaled.batch * rows
        known = meter.known or bool(meter.flops)
        args["flops"] = max(1, round(meter.work / samples), 0 if known else prod(args["out_shape"]))
        args["bytes"] = max(1, round(meter.bytes / samples))
        source = self.step(call, "Custom", args, inputs)
        if factors[:1] > (rows,):
            source = self.step(call, "Flatten", {"start_dim": 0, "end_dim": 1}, [source])
        for index in call.outputs:
            self._sources[index] = source
        unknown = "" if known else "FLOPs"
        function = f"{call.function} ({reason})"
        self.gaps.append(Gap(call.path, function, 1, args["flops"], args["bytes"], unknown))

    def _rows(self, call: Call) -> int:
        """Return the multiple of the batch that the first dimension of the call's first input is."""
        refs = [r for r in _refs((call.args, call.kwargs)) if not self.value(r).constant]
        first = next((r for r in refs if not self.value(r).parameter), None)
        return max(1, self.factors(first)[0]) if first is not None and self.factors(first) else 1

    def _custom_inputs(self, call: Call) -> tuple[list[Source], int]:
        """Return the inputs of a Custom entry and the number of its own parameters."""
        refs = [r for r in _refs((call.args, call.kwargs)) if not self.value(r).constant]
        names = {self.value(r).parameter: r for r in refs if self.value(r).parameter}
        own = {name: r for name, r in names.items() if name not in self._weights}
        for name in own:
            self._weights[name or ""] = len(self.entries)
        inputs = [self.source(r) for r in refs if not self.value(r).parameter]
        return inputs, sum(prod(self.shape(r)) for r in own.values())


def _refs(thing: object) -> list[Ref]:
    if isinstance(thing, Ref):
        return [thing]
    if isinstance(thing, tuple):
        return [ref for item in thing for ref in _refs(item)]
    if isinstance(thing, dict):
        return [ref for item in thing.values() for ref in _refs(item)]
    return []


def _sample(shape: tuple[int, ...], factors: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without the batch: a multiple of it stays as its factor, in front."""
    rest = tuple(s for s, f in zip(shape, factors, strict=True) if not f)
    factor = max(factors, default=0)
    return (factor, *rest) if factor > 1 else rest


def translate(scaled: Scaled, inputs: list[Given], training_only: frozenset[str]) -> Translation:
    """Return the translation of a whole trace."""
    load_translators()
    state = Translation(scaled, inputs)
    state.training_only = training_only
    for call in scaled.trace.calls:
        if call.constant or not any(prod(scaled.trace.values[i].shape) for i in call.outputs):
            continue
        state.scope = call.scope
        translator = TRANSLATORS.get(call.function)
        if translator is None:
            state.custom(call, "no layer for it")
            continue
        before = len(state.entries)
        try:
            translator(state, call)
        except UntranslatableError as error:
            del state.entries[before:]
            state.custom(call, str(error))
    return state
