"""Reads the phase table of CPU steps: a line a network, recipe and phase, as rows of the common kind."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from estimator.calibrate.rows import COLUMNS, MeasuredRow, parse_rows, read_table_text
from estimator.errors import CombinedInputError, InputError, Location

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CPU_COLUMNS = (
    "network",
    "family",
    "input_shape",
    "batch",
    "threads",
    "optimizer",
    "phase",
    "ms",
    "run",
    "notes",
)
CPU_DEVICE = "CPU: AMD Zen 4 cloud slice (2 vCPU)"
_MODES = {
    "step": "train_step",
    "forward": "training_forward",
    "backward": "backward",
    "optimizer": "optimizer",
}
_OPTIMIZERS = {"sgd": "SGD with momentum", "adam": "Adam", "": ""}
_SEQUENCE_SHAPE = re.compile(r"\d+x\d+")
_VARIANT = re.compile(r"^((?:base|cl|bf16|fused)(?: bf16)?)\b.*\(cl = ")


def read_measurements(path: Path) -> tuple[MeasuredRow, ...]:
    """Read a measurement table of either kind, told apart by its first line."""
    text = read_table_text(path)
    header = next(csv.reader(io.StringIO(text)), [])
    if set(CPU_COLUMNS) <= set(header) and not set(COLUMNS) <= set(header):
        return parse_cpu_rows(text, str(path))
    return parse_rows(text, str(path))


def parse_cpu_rows(text: str, file: str) -> tuple[MeasuredRow, ...]:
    """Read the text of a CPU phase table; raises CombinedInputError with every malformed line."""
    reader = csv.DictReader(io.StringIO(text))
    rows: list[MeasuredRow] = []
    errors: list[InputError] = []
    for cells in reader:
        at = Location(file, reader.line_num, 1)
        try:
            rows.append(_row({key: value or "" for key, value in cells.items()}, at))
        except InputError as error:
            errors.append(error)
    if errors:
        raise CombinedInputError(errors)
    return tuple(rows)


def _row(cells: Mapping[str, str], at: Location) -> MeasuredRow:
    try:
        value, batch, threads = float(cells["ms"]), int(cells["batch"]), int(cells["threads"])
    except ValueError as error:
        raise InputError(f"not a number: {error}", at=at) from None
    phase = cells["phase"]
    if phase not in _MODES or value <= 0:
        raise InputError(f"phase {phase!r} at {value} ms", at=at, hint=f"phases are {', '.join(_MODES)}")
    found = _VARIANT.match(cells["notes"])
    variant = (found[1] if found else "base").split()
    optimizer = _OPTIMIZERS.get(cells["optimizer"], cells["optimizer"])
    return MeasuredRow(
        row=f"{at.line}", source_id="cpu_zen4_2vcpu", source="measured for this project",
        source_path=cells["run"], year=2025, model=f"cpu:{cells['network']}", model_config="",
        input_shape=_without_batch(cells["input_shape"]), batch_size=f"{batch}", grad_accum="1", devices=1,
        num_nodes="1", interconnect="", device=CPU_DEVICE if threads > 1 else f"{CPU_DEVICE}, 1 thread used",
        precision="amp-bf16" if "bf16" in variant else "fp32",
        layout="NHWC" if "cl" in variant else "NCHW", framework="PyTorch", framework_version="2.9",
        cuda_cudnn="", mode=_MODES[phase], metric="ms", value=value,
        notes=f"{optimizer}; {cells['notes']}", licence="Apache-2.0", trust="medium", at=at,
    )  # fmt: skip


def _without_batch(shape: str) -> str:
    """Drop the batch from a shape; what is left of tokens is a sequence length."""
    rest = shape.partition("x")[2]
    return f"seq_len={rest}" if _SEQUENCE_SHAPE.fullmatch(shape) else rest
