"""Recurrent layers and their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from estimator.measure.modules.registry import builds

if TYPE_CHECKING:
    from estimator.measure.framework import Torch
    from estimator.measure.modules.registry import Call

_SEQUENCE = 3  # dimensions of a batch of sequences
_SETTINGS = ("hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional", "proj_size",
             "nonlinearity")  # fmt: skip


class Recurrent(nn.Module):  # type: ignore[misc]
    """A recurrent layer of torch.nn; its states are further outputs, and may be further inputs."""

    def __init__(self, layer: nn.Module, states: int) -> None:
        super().__init__()
        self.layer = layer
        self.states = states

    def forward(self, x: Torch, *states: Torch) -> tuple[Torch, ...]:
        """Run the sequence."""
        given = self._given(x, states)
        y, last = self._run(x, given)
        return (y, *last) if self.states > 1 else (y, last)

    def _run(self, x: Torch, given: Torch) -> Torch:
        return self.layer(x, given)

    def _given(self, x: Torch, states: tuple[Torch, ...]) -> Torch:
        if not states:
            return None
        rows = self.layer.num_layers * (2 if self.layer.bidirectional else 1)
        batch = (x.shape[0 if self.layer.batch_first else 1],) if x.dim() == _SEQUENCE else ()
        shaped = tuple(s.reshape(rows, *batch, s.shape[-1]).contiguous() for s in states)
        return shaped if self.states > 1 else shaped[0]


class Stepwise(Recurrent):
    """The same weights, stepped through one time step after the other, as software without fused layers."""

    def _run(self, x: Torch, given: Torch) -> Torch:
        layer = self.layer
        if x.dim() != _SEQUENCE or given is not None or getattr(layer, "proj_size", 0):
            return layer(x, given)
        y = x.transpose(0, 1) if layer.batch_first else x
        lasts: list[tuple[Any, ...]] = []
        for depth in range(layer.num_layers):
            if depth and layer.dropout:
                y = nn.functional.dropout(y, layer.dropout, training=self.training)
            runs = []
            for suffix in ("", "_reverse")[: 2 if layer.bidirectional else 1]:
                out, state = self._direction(y, f"_l{depth}{suffix}", reverse=bool(suffix))
                runs.append(out)
                lasts.append(state)
            y = torch.cat(runs, -1) if len(runs) > 1 else runs[0]
        last = tuple(torch.stack(parts) for parts in zip(*lasts, strict=True))
        y = y.transpose(0, 1) if layer.batch_first else y
        return y, (last if self.states > 1 else last[0])

    def _direction(self, x: Torch, suffix: str, *, reverse: bool) -> Torch:
        layer = self.layer
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights = [getattr(layer, f"{name}{suffix}", None) for name in names]
        state = (x.new_zeros(x.shape[1], layer.hidden_size),) * self.states
        steps = []
        for t in reversed(range(x.shape[0])) if reverse else range(x.shape[0]):
            state = self._cell(x[t], state, weights)
            steps.append(state[0])
        return torch.stack(steps[::-1] if reverse else steps), state

    def _cell(self, x: Torch, state: tuple[Torch, ...], weights: list[Torch]) -> tuple[Torch, ...]:
        wi, wh, bi, bh = weights
        a, b = nn.functional.linear(x, wi, bi), nn.functional.linear(state[0], wh, bh)
        if isinstance(self.layer, nn.LSTM):
            i, f, g, o = (a + b).chunk(4, 1)
            c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
            return o.sigmoid() * c.tanh(), c
        if isinstance(self.layer, nn.GRU):
            (ar, az, an), (br, bz, bn) = a.chunk(3, 1), b.chunk(3, 1)
            z = (az + bz).sigmoid()
            new = (an + (ar + br).sigmoid() * bn).tanh()
            return (new + z * (state[0] - new),)
        total = a + b
        return (total.relu() if self.layer.nonlinearity == "relu" else total.tanh(),)


@builds("RNN", "LSTM", "GRU")
def recurrent(call: Call) -> nn.Module:
    """Build a layer over sequences."""
    given = call.arguments()
    kind = getattr(nn, call.layer.type_name)
    layer = kind(call.shape[-1], **{name: given[name] for name in _SETTINGS if name in given})
    states = 2 if call.layer.type_name == "LSTM" else 1
    return (Recurrent if given["fused"] else Stepwise)(layer, states)


class Cell(nn.Module):  # type: ignore[misc]
    """One step of torch.nn's cells."""

    def __init__(self, cell: nn.Module) -> None:
        super().__init__()
        self.cell = cell

    def forward(self, x: Torch, *states: Torch) -> Torch:
        """Run one step."""
        if not states:
            return self.cell(x)
        return self.cell(x, states if len(states) > 1 else states[0])


@builds("RNNCell", "LSTMCell", "GRUCell")
def cell(call: Call) -> nn.Module:
    """Build one step."""
    given = {name: value for name, value in call.arguments().items() if name != "input_size"}
    return Cell(getattr(nn, call.layer.type_name)(call.shape[-1], **given))
