"""How long each network of the zoo takes to lower for training, and descriptions of 20,000 layers.

The slowest are named, against limits of 50 ms a network and of 3 s to read, expand and lower a description.
The layers' records are made before the clock starts, as in any second lowering of a process.
"""

from __future__ import annotations

import gc
import time

from estimator.catalog.networks import load_network, zoo
from estimator.catalog.yaml_reader import read_document
from estimator.cli.main import COLLECT_AFTER
from estimator.networks.language.read import read_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from tests.bench.long_networks import LONG_NETWORKS

_LIMIT_S = 0.05
_SHOWN = 5
_LONG, _LONG_LIMIT_S = 20_000, 3.0


def seconds(name: str) -> float:
    """Return the best of three lowerings, in processor seconds."""
    network, recipe = load_network(name), Training(batch=2)
    lower(network, recipe)
    times = []
    for _ in range(3):
        start = time.process_time()
        lower(network, recipe)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Print the median, how many are over the limit, and the slowest."""
    gc.set_threshold(COLLECT_AFTER)  # as the program does
    took = {name: seconds(name) for name in zoo()}
    over = sum(value > _LIMIT_S for value in took.values())
    print(f"{len(took)} networks, {over} over {1000 * _LIMIT_S:.0f} ms")  # noqa: T201
    for name in sorted(took, key=lambda each: -took[each])[:_SHOWN]:
        print(f"  {name:<28} {1000 * took[name]:6.1f} ms")  # noqa: T201
    for kind, write in LONG_NETWORKS.items():
        start = time.process_time()
        lower(read_network(read_document(write(_LONG), "net.yaml")), Training(batch=1))
        value = time.process_time() - start
        print(f"{_LONG} layers, {kind}: {value:.2f} s of {_LONG_LIMIT_S:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
