"""How long predictions of networks, devices, batches and precisions take on two cores: seconds a million.

Run it with ``python tests/bench/sweep.py [batches]``: 4 networks x 2 precisions x that many batch sizes on
all devices that can run them. Networks are lowered at two batch sizes beforehand, as a sweep does. CPU
seconds are
counted, which a busy machine does not stretch.
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from typing import TYPE_CHECKING

from estimator.app.fleet import able
from estimator.catalog.calibration import load_calibration
from estimator.catalog.lookup import all_devices
from estimator.catalog.networks import load_network
from estimator.networks.lowering import lower
from estimator.networks.training import Training
from estimator.precision import POLICIES
from estimator.predict.sweep import Sweep
from estimator.predict.table import build_pair
from estimator.software import Software

if TYPE_CHECKING:
    from estimator.workload.workload import Workload

NETWORKS = ("resnet50", "vgg16", "mobilenet_v2", "bert_base")
PRECISIONS = ("fp32", "amp")
MILLION, SMALL, LARGE = 1_000_000, 8, 256


def predict(network: str, precision: str, batches: int) -> tuple[int, float]:
    """Return how many predictions were made, and the seconds they took."""
    opened = load_network(network)
    software = Software()

    def lowered(batch: int) -> Workload:
        return lower(opened, Training(batch=batch, precision=POLICIES.get(precision), software=software))

    small, large = build_pair(lowered(SMALL), lowered(LARGE))
    devices, _ = able(small, all_devices())
    sweep = Sweep(devices, software, load_calibration())
    sweep.step_s(small)  # what is worked out once for all batches
    start = time.process_time()
    for number in range(batches):
        sweep.step_s(small.between(large, number / batches))
    return batches * len(devices), time.process_time() - start


def main(batches: int) -> None:
    """Run the networks on two processes, and print seconds a million predictions."""
    tasks = list(product(NETWORKS, PRECISIONS))
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(predict, *zip(*tasks, strict=True), [batches] * len(tasks)))
    for (network, precision), (count, seconds) in zip(tasks, found, strict=True):
        each = MILLION * seconds / count
        print(f"{network:<14} {precision:<5} {count:8,} in {seconds:6.2f} s: {each:6.1f} s a million")  # noqa: T201
    total, seconds = (sum(column) for column in zip(*found, strict=True))
    print(f"on two cores: {MILLION * seconds / total / 2:.1f} s a million")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
