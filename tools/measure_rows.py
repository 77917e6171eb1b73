"""Measures zoo networks on this machine's CPU as rows for `profiles/measured`.

    python tools/measure_rows.py rows.csv --device "CPU: NAME" --source cpu_NAME [--seconds 5] [--threads N]

`python -m estimator.calibrate.curate rows.csv …` makes them a table that ships. The networks are others than
those `make accuracy-here` scores.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from estimator.app.host import host_devices
from estimator.app.measurement import Subject, order_of
from estimator.app.prediction import lowered
from estimator.app.source import open_network
from estimator.calibrate.rows import COLUMNS
from estimator.catalog.calibration import load_calibration
from estimator.cli.host import host_facts
from estimator.cli.output import save
from estimator.errors import MeasurementError
from estimator.hardware.architecture import DeviceKind
from estimator.measure.session import measure_step

if TYPE_CHECKING:
    from collections.abc import Iterator

    from estimator.detect.facts import HostFacts
    from estimator.measure.session import StepMeasurement

CASES: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("keras_mnist_mlp", (32, 512)), ("mnist_cnn", (64,)), ("keras_cifar10_cnn", (32,)), ("hasy_cnn", (64,)),
    ("alexnet", (8,)), ("resnet34", (4,)), ("resnet101", (2,)), ("resnext50_32x4d", (4,)),
    ("densenet121", (4,)), ("efficientnet_b0", (4,)), ("shufflenet_v2_x1_0", (16,)),
    ("mobilenet_v3_large", (8,)), ("mnasnet1_0", (8,)), ("googlenet", (8,)), ("vgg13", (2,)),
    ("resnet20_cifar", (64,)), ("wide_resnet50_2", (2,)), ("regnet_y_400mf", (8,)), ("convnext_tiny", (2,)),
    ("deit_tiny_patch16_224", (8,)), ("vit_b_32", (4,)), ("mixer_b16_224", (2,)), ("swin_t", (2,)),
    ("distilbert_base", (2,)), ("lstm_1layer", (32,)), ("lstm_sentiment", (16,)), ("keras_imdb_lstm", (32,)),
    ("rnn_lm", (8,)), ("char_rnn", (16,)), ("vae_cf", (128,)), ("recoder_autoencoder", (128,)),
    ("srcnn_955", (2,)), ("neumf", (1024,)), ("unet_3d_small", (1,)),
)  # fmt: skip
_OPTIMIZERS = {
    "sgd": "plain SGD", "momentum": "SGD with momentum", "adam": "Adam", "adamw": "AdamW",
    "rmsprop": "RMSprop", "adagrad": "Adagrad",
}  # fmt: skip
_MOST_APART = 1.6
_MODES = {"forward": "training_forward", "backward": "backward", "optimizer": "optimizer"}


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", type=Path)
    parser.add_argument("--device", required=True, help="the label of this machine's CPU")
    parser.add_argument("--source", required=True, help="the name of this series of measurements")
    parser.add_argument("--seconds", type=float, default=5.0, help="a network, batch and round")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    rows = [
        {**cells, "device": asked.device, "source_id": asked.source}
        for name, batch, measured in _measure(asked.seconds, asked.rounds, asked.threads)
        for cells in _rows(name, batch, measured)
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "row": number} for number, row in enumerate(rows, 2))
    save(asked.table, text.getvalue())


def _measure(
    seconds: float, rounds: int, threads: int | None
) -> Iterator[tuple[str, int, list[StepMeasurement]]]:
    """Measure every case once a round; what changes on a shared machine lies between the rounds."""
    facts = host_facts(None)
    found: dict[tuple[str, int], list[StepMeasurement]] = {}
    for number in range(rounds):
        for name, batches in CASES:
            for batch in batches:
                sys.stderr.write(f"round {number + 1}: {name}, batch {batch}\n")
                try:
                    found.setdefault((name, batch), []).append(_one(name, batch, facts, seconds, threads))
                except MeasurementError as error:
                    sys.stderr.write(f"left out: {error}\n")
    for (name, batch), measured in found.items():
        yield name, batch, measured


def _one(name: str, batch: int, facts: HostFacts, seconds: float, threads: int | None) -> StepMeasurement:
    described = open_network(name, (), io.BytesIO())
    device = next(d for d in host_devices(facts).devices if d.kind is DeviceKind.CPU)
    subject = Subject(
        network=described.network, training=replace(described.training, batch=batch), name="cpu",
        device=device, calibration=load_calibration(), coverage=0.8, budget_s=seconds, threads=threads,
        cpu_time=False, available_bytes=facts.memory.usable_bytes,
    )  # fmt: skip
    run = lowered(subject.network, subject.training, DeviceKind.CPU)
    return measure_step(replace(order_of(subject, run), memory=False, layers=False))


def _rows(name: str, batch: int, measured: list[StepMeasurement]) -> Iterator[dict[str, str | int | float]]:
    if not measured:
        return
    today = datetime.now(tz=UTC).date()
    described = open_network(name, (), io.BytesIO())
    recipe = lowered(described.network, replace(described.training, batch=batch), DeviceKind.CPU).training
    optimizer = _OPTIMIZERS.get(recipe.optimizer.name, recipe.optimizer.name)
    times = {"train_step": [m.step.median for m in measured]}
    if max(times["train_step"]) > _MOST_APART * min(times["train_step"]):
        sys.stderr.write(f"left out: {name}, batch {batch}: the rounds lie far apart\n")
        return
    for phase, mode in _MODES.items():
        seconds = [m.phases[phase].median for m in measured if phase in m.phases]
        if seconds:
            times[mode] = seconds
    software = measured[0].software
    for mode, seconds in times.items():
        yield {
            "source": "measured for this project", "source_path": "tools/measure_rows.py", "year": today.year,
            "model": name, "batch_size": batch, "grad_accum": 1, "num_devices": 1, "num_nodes": 1,
            "precision": "fp32", "layout": "NCHW", "framework": "PyTorch",
            "framework_version": software.get("torch", ""), "mode": mode, "metric": "ms",
            "value": round(median(seconds) * 1e3, 4), "licence": "Apache-2.0", "trust": "medium",
            "notes": f"{optimizer}; {today.isoformat()}, {measured[0].threads} threads, rounds "
            f"{max(seconds) / min(seconds) - 1:.0%} apart",
        }  # fmt: skip


if __name__ == "__main__":
    main()
