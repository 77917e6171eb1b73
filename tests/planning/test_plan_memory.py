"""Remedies save memory for the reasons they are known for, and cost what a recomputation shows."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from estimator.app.here import Grounds
from estimator.app.memory import memory
from estimator.app.request import Request
from estimator.app.source import open_network
from estimator.app.systems import named_system
from estimator.catalog.calibration import load_calibration

if TYPE_CHECKING:
    from estimator.results.memory import DeviceMemory, Remedy
    from tests.planning.conftest import Run


def asked(network: str, device: str, *, batch: int, optimizer: str = "adamw") -> DeviceMemory:
    described = open_network(network, (), io.BytesIO())
    request = Request(network=network, batch=batch, optimizer=optimizer)
    chosen = named_system(device, count=None, link=None).system.device
    grounds = {device: Grounds(device=chosen, calibration=load_calibration())}
    return memory(described, request, grounds).devices[0]


def remedy(found: DeviceMemory, name: str) -> Remedy:
    return next(r for r in found.remedies if r.name == name)


def test_adam_holds_four_times_the_weights() -> None:
    """Weights, gradients and two moments, all fp32: 16 bytes a parameter; GPT-2 has 124,439,808."""
    found = asked("gpt2", "A100-SXM-80GB", batch=1)
    held = found.memory.weights_bytes + found.memory.gradients_bytes + found.memory.optimizer_bytes
    assert held == 16 * 124_439_808


def test_the_largest_batch_is_the_last_that_fits() -> None:
    device = "RTX 2080 Ti"
    largest = asked("resnet50", device, batch=8).memory.largest_batch
    assert largest is not None
    assert asked("resnet50", device, batch=largest).memory.fits
    assert not asked("resnet50", device, batch=largest + 2).memory.fits


def test_the_largest_batch_is_not_that_of_the_update_whose_memory_no_batch_changes() -> None:
    """At batch 1 the copies of AdamW's update are the peak of BERT; at the largest batch the backward is."""
    device = "RTX 2080 Ti"
    one = asked("bert_base", device, batch=1).memory
    assert one.total_bytes - one.other_bytes < 0.8 * one.total_bytes
    assert one.largest_batch is not None
    assert asked("bert_base", device, batch=one.largest_batch).memory.fits
    assert not asked("bert_base", device, batch=one.largest_batch + 2).memory.fits


def test_what_each_remedy_does() -> None:
    found = asked("bert_base", "RTX 2080 Ti", batch=64)
    mixed, blocks = remedy(found, "mixed precision"), remedy(found, "checkpointing")
    assert mixed.time_ratio is not None
    assert mixed.time_ratio < 0.8  # tensor cores
    assert blocks.time_ratio is not None
    assert 1.15 < blocks.time_ratio < 1.45  # a second forward pass is a third of forward and backward
    assert blocks.saved_bytes > 0.4 * found.memory.activations_bytes  # the loss is no block
    split = remedy(found, "accumulation")
    assert split.memory.activations_bytes < 0.6 * found.memory.activations_bytes
    assert split.time_ratio == pytest.approx(1.0, abs=0.1)


def test_leaner_optimizers_are_offered_only_where_they_save() -> None:
    names = {r.name for r in asked("gpt2", "A100-SXM-80GB", batch=1).remedies}
    assert {"optimizer sgd", "optimizer adafactor"} <= names
    assert not any(
        r.name.startswith("optimizer") for r in asked("lenet5", "T4", batch=1, optimizer="sgd").remedies
    )


def test_what_fits_comes_first() -> None:
    fits = [r.memory.fits for r in asked("gpt2", "RTX 3060", batch=32).remedies]
    assert fits == sorted(fits, key=lambda fit: fit is False)
    assert fits[0] is True


def test_screen_and_condition(run: Run) -> None:
    shown = run("memory", "gpt2", "-d", "RTX 3060", "--batch", "32", "--must-fit")
    assert shown.exit_code == 1
    assert "does NOT fit in the 12.0 GiB of RTX 3060 12GB" in shown.output.splitlines()[0]
    assert "next: estimator predict gpt2 --device" in shown.output
    assert run("memory", "lenet5", "-d", "RTX 3060", "--must-fit").exit_code == 0
