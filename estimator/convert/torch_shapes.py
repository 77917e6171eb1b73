"""Translators of calls that move or rearrange values."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from estimator.convert.torch_products import short, unless
from estimator.convert.torch_trace import Ref
from estimator.convert.torch_translate import UntranslatableError, arguments, translates

if TYPE_CHECKING:
    from estimator.convert.entries import Source
    from estimator.convert.torch_trace import Call
    from estimator.convert.torch_translate import Translation


def output_shape(t: Translation, call: Call, output: int = 0) -> list[int]:
    """Return the shape a call makes, -1 for the dimension that holds the batch."""
    return list(t.flexible(Ref(call.outputs[output])))


@translates(
    "torch.Tensor.view", "torch.Tensor.reshape", "torch.reshape", "torch.Tensor.reshape_as",
    "torch.Tensor.view_as", "torch.Tensor.flatten", "torch.flatten", "torch.Tensor.unflatten",
    "torch.unflatten", "torch.Tensor.squeeze", "torch.squeeze", "torch.Tensor.unsqueeze", "torch.unsqueeze",
    "torch.Tensor.unsqueeze_", "torch.Tensor.squeeze_", "torch.Tensor.flatten_", "torch.Tensor.ravel",
    "torch.ravel", "torch.Tensor.contiguous",
)  # fmt: skip
def reshape(t: Translation, call: Call) -> None:
    """All forms of the same: the shape after it says everything."""
    x = call.args[0] if call.args else call.kwargs["input"]
    shape, before = output_shape(t, call), list(t.flexible(x))
    verb = call.function.rsplit(".", 1)[-1].rstrip("_")
    if isinstance(call.args[1] if len(call.args) > 1 else None, Ref) and verb not in (
        "reshape_as",
        "view_as",
    ):
        raise UntranslatableError("a shape that is computed")
    if verb == "contiguous":
        t.emit(call, "Contiguous", {}, [x])
    elif shape == before and t.trace.values[call.outputs[0]].alias:
        t.same(call, x)
    elif verb in ("squeeze", "unsqueeze") and abs(len(shape) - len(before)) == 1:
        dim = _single(shape, before)
        t.emit(call, "Squeeze" if verb == "squeeze" else "Unsqueeze", {"dim": dim}, [x])
    elif verb == "flatten":
        start, end = _flattened(before, shape, call)
        args = ({"start_dim": start} if start != 1 else {}) | ({"end_dim": end} if end != -1 else {})
        t.emit(call, "Flatten", args, [x])
    else:
        t.emit(call, "Reshape", reshaped(t, x, Ref(call.outputs[0])), [x])


def reshaped(t: Translation, x: Ref, out: Ref) -> dict[str, Any]:
    """Return the arguments of Reshape; where the first dimension stays the batch, it is not said."""
    if t.factors(x)[:1] == (1,) and t.factors(out)[:1] == (1,) and len(t.shape(out)) > 1:
        return {"shape": list(t.shape(out)[1:])}
    return {"shape": list(t.flexible(out)), "start_dim": 0}


def _single(one: list[int], two: list[int]) -> int:
    """Return the first dimension in which two shapes that differ by one dimension of size 1 differ."""
    short_one, long_one = sorted((one, two), key=len)
    for dim, size in enumerate(long_one):
        if size == 1 and long_one[:dim] + long_one[dim + 1 :] == short_one:
            return dim
    raise UntranslatableError("a squeeze of no dimension")


def _flattened(before: list[int], after: list[int], call: Call) -> tuple[int, int]:
    a = arguments(call, "input start_dim end_dim")
    del after
    start, end = a.get("start_dim", 0), a.get("end_dim", -1)
    rank = len(before)
    end = -1 if end in (-1, rank - 1) else end % rank
    return start % rank if rank else 0, end


@translates("torch.Tensor.permute", "torch.permute", "torch.Tensor.T", "torch.Tensor.mT", "torch.Tensor.t",
            "torch.t")  # fmt: skip
def permute(t: Translation, call: Call) -> None:
    """Dimensions in another order."""
    x = call.args[0]
    rank = len(t.shape(x))
    if call.function.endswith("mT"):
        t.emit(call, "Transpose", {"dim0": -2, "dim1": -1}, [x])
        return
    if call.function.rsplit(".", 1)[-1] in ("T", "t"):
        dims: list[int] = list(reversed(range(rank)))
    else:
        given = call.args[1:] if len(call.args) > 1 else (call.kwargs["dims"],)
        dims = [d % rank for d in (given[0] if isinstance(given[0], tuple) else given)]
    t.emit(call, "Permute", {"dims": dims}, [x])


@translates("torch.Tensor.transpose", "torch.transpose", "torch.swapaxes", "torch.Tensor.swapaxes",
            "torch.Tensor.transpose_", "torch.Tensor.swapdims", "torch.swapdims")  # fmt: skip
def transpose(t: Translation, call: Call) -> None:
    """Two dimensions swapped."""
    a = arguments(call, "input dim0 dim1")
    t.emit(call, "Transpose", {"dim0": a["dim0"], "dim1": a["dim1"]}, [a["input"]])


@translates("torch.Tensor.movedim", "torch.movedim", "torch.Tensor.moveaxis")
def movedim(t: Translation, call: Call) -> None:
    """One dimension to another place."""
    a = arguments(call, "input source destination")
    rank = len(t.shape(a["input"]))
    if not isinstance(a["source"], int):
        raise UntranslatableError("several dimensions moved")
    order = [d for d in range(rank) if d != a["source"] % rank]
    order.insert(a["destination"] % rank, a["source"] % rank)
    t.emit(call, "Permute", {"dims": order}, [a["input"]])


@translates(
    "torch.Tensor.expand", "torch.Tensor.expand_as", "torch.Tensor.broadcast_to", "torch.broadcast_to"
)
def expand(t: Translation, call: Call) -> None:
    """Translate: a view with a dimension repeated; a parameter over the batch is one for each sample."""
    x = call.args[0]
    out = Ref(call.outputs[0])
    shape, before = t.shape(out), t.shape(x)
    if shape == before:
        t.same(call, x)
        return
    padded = (1,) * (len(shape) - len(before)) + before
    grown = [n for n, (new, old) in enumerate(zip(shape, padded, strict=True)) if new != old]
    if t.factors(out)[0] == 1 and grown == [0]:
        t.per_sample(call, x)
    elif grown == [0] and not t.factors(out)[0]:
        one = t.source(x)
        if len(shape) > len(before):
            one = t.step(call, "Unsqueeze", {"dim": 0}, [one])
        ones = t.step(call, "Unsqueeze", {"dim": 0}, [one])
        many = t.step(call, "Expand", {"shape": list(shape)}, [ones])
        t.hold(call, t.step(call, "Squeeze", {"dim": 0}, [many]))
    elif len(shape) == len(before) and 0 not in grown:
        t.emit(call, "Expand", {"shape": list(shape[1:])}, [x])
    else:
        raise UntranslatableError("an expansion of this kind")


@translates("torch.Tensor.__getitem__")
def index(t: Translation, call: Call) -> None:
    """Slices, numbers, None and ellipses one after another; a tensor as index is a look-up."""
    x, key = call.args[0], call.args[1]
    items = list(key) if isinstance(key, tuple) else [key]
    rank = len(t.shape(x))
    used = sum(1 for i in items if i is not None and i is not Ellipsis)
    if Ellipsis in [i for i in items if not isinstance(i, Ref)]:
        at = next(n for n, i in enumerate(items) if i is Ellipsis)
        items[at : at + 1] = [slice(None)] * (rank - used)
    source = t.source(x)
    shape, factors = list(t.shape(x)), list(t.factors(x))
    dim = 0
    for item in items:
        if item is None:
            source = t.step(call, "Unsqueeze", {"dim": dim}, [source])
            shape.insert(dim, 1)
            factors.insert(dim, 0)
            dim += 1
        elif isinstance(item, slice):
            source = _slice(t, call, source, (item, dim), (shape, factors))
            dim += 1
        elif isinstance(item, int) and not isinstance(item, bool):
            source = t.step(call, "Select", {"dim": dim, "index": item}, [source])
            del shape[dim], factors[dim]
        elif isinstance(item, list | tuple) and all(type(i) is int for i in item):
            source = t.step(call, "IndexSelect", {"dim": dim, "count": len(item)}, [source])
            shape[dim] = len(item)
            dim += 1
        elif isinstance(item, Ref):
            source = _lookup(t, call, source, (item, dim), items)
            break
        else:
            raise UntranslatableError(f"an index of type {type(item).__name__}")
    t.hold(call, source)


def _slice(
    t: Translation, call: Call, source: Source, where: tuple[slice, int], sizes: tuple[list[int], list[int]]
) -> Source:
    """Emit one slice; one that takes everything is nothing."""
    item, dim = where
    shape, factors = sizes
    if any(not isinstance(v, int | None) for v in (item.start, item.stop, item.step)):
        raise UntranslatableError("a slice that depends on the batch")
    start, stop, step = item.indices(shape[dim])
    if (start, stop, step) == (0, shape[dim], 1):
        return source
    if factors[dim]:
        raise UntranslatableError("a slice of the batch")
    args = {"dim": dim} | ({"start": start} if start else {}) | ({"stop": stop} if stop != shape[dim] else {})
    shape[dim] = len(range(start, stop, step))
    return t.step(call, "Slice", args | ({"step": step} if step != 1 else {}), [source])


def _lookup(t: Translation, call: Call, source: Source, where: tuple[Ref, int], items: list[Any]) -> Source:
    """Emit a look-up by constant tables, along one dimension or several in a row; they must be the last."""
    item, dim = where
    rest = items[items.index(item) :]
    tables = [i for i in rest if isinstance(i, Ref)]
    behind = [i for i in rest[len(tables) :] if i != slice(None)]
    if behind or any(not isinstance(i, Ref) for i in rest[: len(tables)]):
        raise UntranslatableError("an index of this kind")
    if any(not t.value(i).constant or t.value(i).dtype == "bool" or any(t.factors(i)) for i in tables):
        raise UntranslatableError("an index that is computed")
    if len(tables) > 1:
        source = t.step(call, "Flatten", {"start_dim": dim, "end_dim": dim + len(tables) - 1}, [source])
    shape = max((t.shape(i) for i in tables), key=prod)
    found = t.step(call, "IndexSelect", {"dim": dim, "count": prod(shape)}, [source])
    if len(shape) == 1:
        return found
    return t.step(call, "Unflatten", {"dim": dim, "unflattened_size": list(shape)}, [found])


@translates("torch.Tensor.index_select", "torch.index_select")
def index_select(t: Translation, call: Call) -> None:
    """Translate: a look-up along one dimension."""
    a = arguments(call, "input dim index")
    t.emit(call, "IndexSelect", {"dim": a["dim"], "count": t.shape(a["index"])[0]}, [a["input"]])


@translates("torch.Tensor.narrow", "torch.narrow")
def narrow(t: Translation, call: Call) -> None:
    """Translate: a slice by length."""
    a = arguments(call, "input dim start length")
    t.emit(
        call, "Slice", {"dim": a["dim"], "start": a["start"], "stop": a["start"] + a["length"]}, [a["input"]]
    )


@translates("torch.Tensor.select", "torch.select")
def select(t: Translation, call: Call) -> None:
    """One element of a dimension."""
    a = arguments(call, "input dim index")
    t.emit(call, "Select", {"dim": a["dim"], "index": a["index"]}, [a["input"]])


@translates("torch.Tensor.chunk", "torch.chunk", "torch.Tensor.split", "torch.functional.split",
            "torch.split",
            "torch.Tensor.unbind", "torch.unbind", "torch.Tensor.tensor_split", "torch.tensor_split",
            "torch.Tensor.split_with_sizes", "torch.split_with_sizes")  # fmt: skip
def split(t: Translation, call: Call) -> None:
    """Several views along a dimension: equal ones, ones of given sizes, or one for each element."""
    a = arguments(call, "input n dim")
    x = a["input"]
    outputs = [t.shape(Ref(i)) for i in call.outputs]
    if "unbind" in call.function:
        dim = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim", 0)
        t.emit(call, "Unbind", {"dim": dim} if dim else {}, [x])
        return
    dim = a.get("dim", 0) % len(t.shape(x))
    if t.factors(x)[dim]:
        if len(set(outputs)) > 1:
            raise UntranslatableError("a split of the batch into unequal parts")
        t.emit(call, "Chunk", {"chunks": len(outputs), "dim": dim}, [x])
        return
    sizes = [shape[dim] for shape in outputs]
    if len(set(sizes)) == 1 and sum(sizes) == t.shape(x)[dim]:
        t.emit(call, "Chunk", {"chunks": len(sizes)} | ({"dim": dim} if dim != 1 else {}), [x])
    else:
        t.emit(call, "Split", {"split_size": sizes} | ({"dim": dim} if dim != 1 else {}), [x])


def _operands(call: Call) -> list[Ref]:
    things = call.args[0] if call.args else call.kwargs["tensors"]
    return list(things)


@translates("torch.cat", "torch.concat", "torch.concatenate")
def cat(t: Translation, call: Call) -> None:
    """One after another along a dimension."""
    dim = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim", call.kwargs.get("axis", 0))
    operands = [r for r in _operands(call) if prod(t.shape(r))]
    if len(operands) == 1:
        t.emit(call, "Clone", {}, operands)  # PyTorch copies a single tensor too
        return
    t.emit(call, "Concat", {"dim": dim} if dim != 1 else {}, operands)


@translates("torch.stack")
def stack(t: Translation, call: Call) -> None:
    """One after another along a new dimension."""
    dim = call.args[1] if len(call.args) > 1 else call.kwargs.get("dim", 0)
    t.emit(call, "Stack", {"dim": dim}, _operands(call))


@translates("torch.nn.functional.pad", "torch._C._nn.pad")
def pad(t: Translation, call: Call) -> None:
    """Translate: the last dimensions extended, or cut where the padding is negative."""
    a = arguments(call, "input pad mode value")
    padding = [int(p) for p in a["pad"]]
    if not any(padding):
        t.same(call, a["input"])
        return
    args = {"padding": padding} | unless({"mode": a.get("mode", "constant")}, mode="constant")
    t.emit(call, "Pad", args, [a["input"]])


@translates("torch.roll", "torch.Tensor.roll")
def roll(t: Translation, call: Call) -> None:
    """Elements moved around in circles: a copy."""
    a = arguments(call, "input shifts dims")
    shifts, dims = (list(v) if isinstance(v, tuple) else [v] for v in (a["shifts"], a.get("dims")))
    if dims == [None]:
        raise UntranslatableError("a roll of everything")
    t.emit(call, "Roll", {"shifts": shifts, "dims": dims}, [a["input"]])


@translates("torch.Tensor.flip", "torch.flip")
def flip(t: Translation, call: Call) -> None:
    """Elements in reverse: a copy."""
    dims = call.args[1] if len(call.args) > 1 else call.kwargs["dims"]
    t.emit(call, "Flip", {"dims": list(dims) if isinstance(dims, tuple) else [dims]}, [call.args[0]])


@translates("torch.nn.functional.interpolate", "torch.nn.functional.upsample")
def interpolate(t: Translation, call: Call) -> None:
    """Another size of an image."""
    a = arguments(call, "input size scale_factor mode align_corners")
    before, after = t.shape(a["input"])[2:], t.shape(Ref(call.outputs[0]))[2:]
    args: dict[str, Any] = {}
    if a.get("scale_factor") is not None:
        factor = short(
            tuple(a["scale_factor"]) if isinstance(a["scale_factor"], tuple) else a["scale_factor"]
        )
        args["scale_factor"] = int(factor) if isinstance(factor, float) and factor.is_integer() else factor
    elif before == after and a.get("mode", "nearest") == "nearest":
        args["scale_factor"] = 1
    else:
        args["size"] = short(after)
    args |= unless({"mode": a.get("mode", "nearest"), "align_corners": a.get("align_corners")},
                   mode="nearest", align_corners=False)  # fmt: skip
    t.emit(call, "Upsample", args, [a["input"]])


@translates("torch.nn.functional.grid_sample")
def grid_sample(t: Translation, call: Call) -> None:
    """Translate: an image at computed points."""
    a = arguments(call, "input grid mode padding_mode align_corners")
    args = unless({k: a.get(k) for k in ("mode", "padding_mode", "align_corners")},
                  mode="bilinear", padding_mode="zeros", align_corners=False)  # fmt: skip
    t.emit(call, "GridSample", args, [a["input"], a["grid"]])


@translates("torch.pixel_shuffle", "torch.nn.functional.pixel_shuffle")
def pixel_shuffle(t: Translation, call: Call) -> None:
    """Channels to pixels."""
    factor = arguments(call, "input upscale_factor")["upscale_factor"]
    t.emit(call, "PixelShuffle", {"upscale_factor": factor}, [call.args[0]])


@translates("torch.pixel_unshuffle", "torch.nn.functional.pixel_unshuffle")
def pixel_unshuffle(t: Translation, call: Call) -> None:
    """Pixels to channels."""
    factor = arguments(call, "input downscale_factor")["downscale_factor"]
    t.emit(call, "PixelUnshuffle", {"downscale_factor": factor}, [call.args[0]])


@translates("torch.nn.functional.unfold")
def unfold(t: Translation, call: Call) -> None:
    """Patches side by side."""
    a = arguments(call, "input kernel_size dilation padding stride")
    args = unless({k: a.get(k) for k in ("kernel_size", "dilation", "padding", "stride")},
                  dilation=1, padding=0, stride=1)  # fmt: skip
    t.emit(call, "Unfold", args, [a["input"]])


@translates("torch.nn.functional.fold")
def fold(t: Translation, call: Call) -> None:
    """Patches added up to an image."""
    a = arguments(call, "input output_size kernel_size dilation padding stride")
    args = {"output_size": list(a["output_size"])} | unless(
        {k: a.get(k) for k in ("kernel_size", "dilation", "padding", "stride")},
        dilation=1,
        padding=0,
        stride=1,
    )
    t.emit(call, "Fold", args, [a["input"]])


@translates("torch.Tensor.clone", "torch.clone")
def clone(t: Translation, call: Call) -> None:
    """Translate: a copy."""
    t.emit(call, "Clone", {}, [call.args[0]])


@translates("torch.Tensor.to", "torch.Tensor.type_as", "torch.Tensor.float", "torch.Tensor.half",
            "torch.Tensor.type",
            "torch.Tensor.bfloat16", "torch.Tensor.long", "torch.Tensor.int",
            "torch.Tensor.double")  # fmt: skip
def to(t: Translation, call: Call) -> None:
    """Another number format."""
    before, after = t.value(call.args[0]).dtype, t.trace.values[call.outputs[0]].dtype
    if before == after:
        t.same(call, call.args[0])
        return
    t.emit(call, "Cast", {"dtype": after}, [call.args[0]])


@translates("torch.Tensor.detach", "torch.detach")
def detach(t: Translation, call: Call) -> None:
    """Translate: the same values without a gradient."""
    t.emit(call, "Detach", {}, [call.args[0]])


@translates("torch.Tensor.repeat", "torch.tile", "torch.Tensor.tile")
def repeat(t: Translation, call: Call) -> None:
    """Translate: copies along dimensions; of something without a batch it may stand for broadcasting."""
    x = call.args[0]
    more = call.args[1:]
    times = more[0] if isinstance(more[0], tuple) else more
    if all(isinstance(n, int) for n in times):
        rank = len(t.shape(x))
        source = t.source(x)
        if len(times) > rank:
            raise UntranslatableError("copies along new dimensions")
        whole = (1,) * (rank - len(times)) + tuple(times)
        if whole[0] != 1:  # the layer leaves the first dimension alone: one is put before it
            source = t.step(call, "Unsqueeze", {"dim": 0}, [source])
            source = t.step(call, "Repeat", {"repeats": list(whole)}, [source])
            t.hold(call, t.step(call, "Squeeze", {"dim": 0}, [source]))
            return
        t.hold(call, t.step(call, "Repeat", {"repeats": list(whole[1:])}, [source]))
        return
    if t.factors(Ref(call.outputs[0]))[0] != 1 or t.shape(Ref(call.outputs[0]))[1:] != t.shape(x)[1:]:
        raise UntranslatableError("copies by a multiple of the batch")
    t.per_sample(call, x)


@translates("torch.Tensor.repeat_interleave", "torch.repeat_interleave")
def repeat_interleave(t: Translation, call: Call) -> None:
    """Each element several times in a row."""
    a = arguments(call, "input repeats dim")
    if not isinstance(a["repeats"], int) or a.get("dim") is None:
        raise UntranslatableError("repeats that differ")
    x, rank = a["input"], len(t.shape(a["input"]))
    dim = a["dim"] % rank
    if dim == 0:
        _repeat_batch(t, call, x, a["repeats"])
        return
    one = t.step(call, "Unsqueeze", {"dim": dim + 1}, [t.source(x)])
    sizes = [-1] * rank
    sizes[dim] = a["repeats"]
    many = t.step(call, "Expand", {"shape": sizes}, [one])
    t.hold(call, t.step(call, "Flatten", {"start_dim": dim, "end_dim": dim + 1}, [many]))


def _repeat_batch(t: Translation, call: Call, x: Ref, times: int) -> None:
    """Repeat each sample: a new dimension behind the batch, expanded and joined with it."""
    one = t.step(call, "Unsqueeze", {"dim": 1}, [t.source(x)])
    many = t.step(call, "Expand", {"shape": [times] + [-1] * (len(t.shape(x)) - 1)}, [one])
    t.hold(call, t.step(call, "Flatten", {"start_dim": 0, "end_dim": 1}, [many]))


@translates("torch.Tensor.unfold")
def sliding_window(t: Translation, call: Call) -> None:
    """Windows along a dimension."""
    a = arguments(call, "input dimension size step")
    args = {"dim": a["dimension"], "size": a["size"], "step": a["step"]}
    t.emit(call, "SlidingWindow", args, [a["input"]])


@translates("torch.Tensor.__setitem__")
def assign(t: Translation, call: Call) -> None:
    """Translate: a part of a tensor written over."""
    x, key, part = call.args
    if not isinstance(part, Ref):
        raise UntranslatableError("a number written over a part")
    if any(isinstance(i, Ref) for i in (key if isinstance(key, tuple) else (key,))):
        raise UntranslatableError("a part chosen by values")
    t.emit(call, "Assign", {}, [x, part])
