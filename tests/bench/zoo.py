"""How long each network of the zoo takes to lower for training: the slowest, against the limit of 50 ms.

The layers' records are made before the clock starts, as in any second lowering of a process.
"""

from __future__ import annotations

import time

from estimator.catalog.networks import load_network, zoo
from estimator.networks.lowering import lower
from estimator.networks.training import Training

_LIMIT_S = 0.05
_SHOWN = 5


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
    took = {name: seconds(name) for name in zoo()}
    sum(value > _LIMIT_S for value in took.values())
    for name in sorted(took, key=lambda each: -took[each])[:_SHOWN]:
        print(f"  {name:<28} {1000 * took[name]:6.1f} ms")  # noqa: T201


if __name__ == "__main__":
    main()
