"""Counting resnet50, whole process: this program beside PyTorch's counter, torchinfo and fvcore.

Counters that are not installed are left out: ``pip install torchinfo fvcore`` brings them. The network of the
others is torchvision's where that is installed, else it is built from the same YAML. All run from compiled
bytecode, as installed packages do.
"""

from __future__ import annotations

import importlib.util

from tests.bench.speed import seconds

_TORCHVISION = """
import torch, torchvision
model = torchvision.models.resnet50()
x = torch.randn(1, 3, 224, 224)
"""
_DESCRIBED = """
import io, torch
from estimator.app.source import open_network
from estimator.measure.calls import node_calls
from estimator.measure.modules.graph import GraphModule
from estimator.networks.training import Training
recipe = Training(batch=1, training=False)
net = open_network("resnet50", (), io.BytesIO()).network
model = GraphModule(net, node_calls(net, recipe), recipe)
x = torch.randn(1, 3, 224, 224)
"""
_BUILD = _DESCRIBED if importlib.util.find_spec("torchvision") is None else _TORCHVISION
_OTHERS = {
    "torch.utils.flop_counter": ("torch", _BUILD + """
from torch.utils.flop_counter import FlopCounterMode
with FlopCounterMode(display=False) as counter:
    model(x)
print(counter.get_total_flops())
"""),
    "torchinfo": ("torchinfo", _BUILD + "import torchinfo; print(torchinfo.summary(model, input_data=x))"),
    "fvcore": ("fvcore", _BUILD + """
from fvcore.nn import FlopCountAnalysis
print(FlopCountAnalysis(model, x).unsupported_ops_warnings(False).total())
"""),
}  # fmt: skip


def main() -> None:
    """Print a line a counter."""
    ours = seconds(["-m", "estimator", "layers", "resnet50", "--format", "json"])
    print(f"{'estimator layers resnet50':<28} {1000 * ours:7.0f} ms")  # noqa: T201
    for name, (package, code) in _OTHERS.items():
        if importlib.util.find_spec(package) is None:
            print(f"{name:<28} not installed")  # noqa: T201
            continue
        took = seconds(["-c", code])
        print(f"{name:<28} {1000 * took:7.0f} ms   {took / ours:5.1f} x ours")  # noqa: T201


if __name__ == "__main__":
    main()
