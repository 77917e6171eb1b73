"""Descriptions of as many layers as one likes, in three styles."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def written_out(layers: int) -> str:
    """Return layers that each have lines of their own."""
    pair = "  - {type: Conv2d, out_channels: 64, kernel_size: 3, padding: 1}\n  - ReLU\n"
    return "inputs: {x: [3, 32, 32]}\nlayers:\n" + pair * (layers // 2)


def repeated(layers: int) -> str:
    """Return blocks that are repeated, with expressions, names and residual connections."""
    return f"""
params: {{widths: [8, 16, 24, 32]}}
inputs: {{x: [8, 32]}}
layers:
  - repeat: {layers // 4}
    layers:
      - {{type: Linear, out_features: "${{widths[i % 4]}}", name: "fc${{i}}"}}
      - {{type: ReLU, name: act}}
      - {{type: Residual, layers: [ReLU]}}
"""


def alive_to_the_end(layers: int) -> str:
    """Return values that share a gradient and all live until the last layer reads them."""
    half = layers // 2
    names = ", ".join(f"{letter}{i}" for letter in "vw" for i in range(half))
    return f"""
inputs: {{x: [1]}}
layers:
  - {{type: Linear, out_features: 1}}
  - {{repeat: {half}, type: AddScalar, value: 1.0, name: "v${{i}}"}}
  - {{repeat: {half}, type: AddScalar, value: 1.0, name: "w${{i}}"}}
  - {{type: Concat, from: [{names}], dim: 1}}
"""


LONG_NETWORKS: dict[str, Callable[[int], str]] = {
    "written out": written_out,
    "repeated": repeated,
    "alive to the end": alive_to_the_end,
}
