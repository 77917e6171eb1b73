"""Layers that look at values in another shape or order, pick parts, or pad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.nn import functional as F  # noqa: N812 - its usual name

from estimator.measure.modules.registry import Function, builds, functions, native

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

native("Identity", "PixelShuffle", "PixelUnshuffle", "Unfold", "Fold", "Upsample")
native("UpsamplingBilinear2d", "UpsamplingNearest2d")
functions(Contiguous=lambda x: x.contiguous())

_SHAPED: dict[str, Callable[..., Any]] = {
    "Flatten": lambda a, x: x.flatten(min(a["start_dim"], x.dim() - 1), a["end_dim"]),
    "Unflatten": lambda a, x: x.unflatten(a["dim"], a["unflattened_size"]),
    "Permute": lambda a, x: x.permute(a["dims"]),
    "Transpose": lambda a, x: x.transpose(a["dim0"], a["dim1"]),
    "Unsqueeze": lambda a, x: x.unsqueeze(a["dim"]),
    "Expand": lambda a, x: x.expand(-1, *a["shape"]),
    "Repeat": lambda a, x: x.repeat(1, *a["repeats"]),
    "Roll": lambda a, x: x.roll(a["shifts"], a["dims"]),
    "Flip": lambda a, x: x.flip(a["dims"]),
    "Select": lambda a, x: x.select(a["dim"], a["index"]),
    "Chunk": lambda a, x: x.chunk(a["chunks"], a["dim"]),
    "Split": lambda a, x: x.split(
        list(a["split_size"]) if isinstance(a["split_size"], tuple) else a["split_size"], a["dim"]
    ),
    "Unbind": lambda a, x: x.unbind(a["dim"]),
    "GridSample": lambda a, x, grid: F.grid_sample(x, grid, **a),
}


@builds(*_SHAPED)
def shaped(call: Call) -> nn.Module:
    """Build a method of the tensor with the layer's arguments."""
    run, arguments = _SHAPED[call.layer.type_name], call.arguments()
    return Function(lambda *inputs: run(arguments, *inputs))


@builds("Reshape")
def reshape(call: Call) -> nn.Module:
    """Build a new shape from one dimension on."""
    given = call.arguments()
    return Function(lambda x: x.reshape(*x.shape[: given["start_dim"]], *given["shape"]))


@builds("Squeeze")
def squeeze(call: Call) -> nn.Module:
    """Build without dimensions of size 1."""
    dim = call.arguments()["dim"]
    dims = tuple(range(1, len(call.shape))) if dim is None else (dim,)
    return Function(lambda x: x.squeeze(dims))


@builds("Slice")
def part(call: Call) -> nn.Module:
    """Build a range of one dimension."""
    given = call.arguments()
    dim = given["dim"] % len(call.shape)
    index = (slice(None),) * dim + (slice(given["start"], given["stop"], given["step"]),)
    return Function(lambda x: x[index])


@builds("ChannelShuffle")
def channel_shuffle(call: Call) -> nn.Module:
    """Build channels of groups interleaved, as model code writes it."""
    groups = call.arguments()["groups"]

    def run(x: Torch) -> Torch:
        n, channels, *size = x.shape
        return x.view(n, groups, channels // groups, *size).transpose(1, 2).contiguous().view(x.shape)

    return Function(run)


_MODES = {"Zero": "constant", "Constant": "constant", "Reflection": "reflect", "Replication": "replicate",
          "Circular": "circular"}  # fmt: skip


@builds(*(f"{kind}Pad{dims}d" for kind in _MODES for dims in (1, 2, 3)))
def padding(call: Call) -> nn.Module:
    """Build edges around a length, an image or a volume."""
    kind, _, dims = call.layer.type_name.partition("Pad")
    given = call.arguments()
    widths = given["padding"]
    if isinstance(widths, int):
        widths = (widths,) * (2 * int(dims[0]))
    return _pad(widths, _MODES[kind], given.get("value", 0.0))


@builds("Pad")
def pad(call: Call) -> nn.Module:
    """Build any dimensions padded."""
    given = call.arguments()
    return _pad(given["padding"], given["mode"], given["value"])


def _pad(widths: tuple[int, ...], mode: str, value: float) -> nn.Module:
    filled = {"value": value} if mode == "constant" else {}
    return Function(lambda x: F.pad(x, widths, mode, **filled))
