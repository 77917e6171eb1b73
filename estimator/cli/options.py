"""The flags that several commands share: each with its environment twin and its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Network: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="NET",
        help="a network of the zoo (see `estimator networks list`), a YAML file, or - for stdin",
    ),
]
Set: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="replace a parameter of the network, e.g. --set seq=2048"
    ),
]
Batch: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--batch", "-b", min=1, max=2**31, envvar="ESTIMATOR_BATCH", help="samples a device and pass"
    ),
]
Precision: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--precision", "-p", envvar="ESTIMATOR_PRECISION",
        help="fp32, tf32, amp, amp-unscaled, amp-bf16, fp16, fp16-master, bf16, fp8 or fp64",
    ),
]  # fmt: skip
Epochs: TypeAlias = Annotated[
    float | None, typer.Option("--epochs", envvar="ESTIMATOR_EPOCHS", help="passes over the training set")
]
Steps: TypeAlias = Annotated[
    int | None,
    typer.Option("--steps", min=1, envvar="ESTIMATOR_STEPS", help="optimizer steps, instead of epochs"),
]
Samples: TypeAlias = Annotated[
    int | None,
    typer.Option("--samples", min=1, envvar="ESTIMATOR_SAMPLES", help="samples in the training set"),
]
Optimizer: TypeAlias = Annotated[
    str | None,
    typer.Option("--optimizer", envvar="ESTIMATOR_OPTIMIZER", help="sgd, momentum, adam, adamw, lion, …"),
]
Accumulation: TypeAlias = Annotated[
    int | None,
    typer.Option("--accumulation", min=1, envvar="ESTIMATOR_ACCUMULATION", help="passes before an update"),
]
Checkpointing: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--checkpointing", envvar="ESTIMATOR_CHECKPOINTING",
        help="none, or blocks: keep only block inputs, compute the rest again",
    ),
]  # fmt: skip
Count: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--devices", "-n", min=1, max=65536, envvar="ESTIMATOR_DEVICES", help="devices, data parallel"
    ),
]
Link: TypeAlias = Annotated[
    str | None,
    typer.Option("--link", envvar="ESTIMATOR_LINK", help="what joins them: pcie3, nvlink3, …"),
]
Framework: TypeAlias = Annotated[
    str | None,
    typer.Option("--framework", envvar="ESTIMATOR_FRAMEWORK", help="pytorch, tensorflow, caffe, torch7, …"),
]
Mode: TypeAlias = Annotated[
    str | None, typer.Option("--mode", envvar="ESTIMATOR_MODE", help="eager, fused or compiled")
]
Layout: TypeAlias = Annotated[
    str | None,
    typer.Option("--layout", envvar="ESTIMATOR_LAYOUT", help="channels_first or channels_last"),
]
Attention: TypeAlias = Annotated[
    str | None, typer.Option("--attention", envvar="ESTIMATOR_ATTENTION", help="flash or math")
]
Era: TypeAlias = Annotated[
    int | None,
    typer.Option("--era", min=2010, max=2100, envvar="ESTIMATOR_ERA", help="year of the software, e.g. 2014"),
]
Inference: TypeAlias = Annotated[
    bool, typer.Option("--inference", envvar="ESTIMATOR_INFERENCE", help="forward passes only")
]
Coverage: TypeAlias = Annotated[
    float,
    typer.Option(
        "--coverage", min=0.01, max=0.999, envvar="ESTIMATOR_COVERAGE",
        help="share of cases the range is to hold the true time in",
    ),
]  # fmt: skip
MustFit: TypeAlias = Annotated[
    bool,
    typer.Option("--must-fit", envvar="ESTIMATOR_MUST_FIT", help="exit 1 when it does not fit in memory"),
]
Deadline: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--deadline", envvar="ESTIMATOR_DEADLINE", help="exit 1 when the run takes longer, e.g. 12h"
    ),
]
FormatName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format", "-f", envvar="ESTIMATOR_FORMAT", help="table, plain, json, csv, markdown or html"
    ),
]
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", envvar="ESTIMATOR_OUTPUT", help="write to a file; its suffix picks the format"
    ),
]


def _root(text: str) -> Path:
    """Return the path; an empty one would be the current directory, which nobody means."""
    if not text.strip():
        raise typer.BadParameter("is empty; give a copy of another host's /proc and /sys, or leave it out")
    return Path(text)


Root: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--root", envvar="ESTIMATOR_ROOT", parser=_root, metavar="PATH",
        help="read a recorded /proc and /sys tree instead of this machine",
    ),
]  # fmt: skip
