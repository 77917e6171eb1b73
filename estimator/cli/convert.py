"""``estimator convert``: networks in other formats to our YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.guard import guarded

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="torch:package.module:callable, torchvision:NAME, timm:NAME, hf:config.json, onnx:FILE "
        "or keras:FILE.json",
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option("--input", help="shape of a PyTorch module's input without the batch: 3x224x224, int64:128"),
]
To = Annotated[Path | None, typer.Option("--output", "-o", help="write the YAML to a file")]


@guarded
def convert(source: Source, input_: Inputs = None, output: To = None) -> None:
    """Turn a network you have into YAML; nothing is downloaded and no weights are made.

    estimator convert hf:config.json -o mine.yaml
    """
    from estimator.app.conversion import convert as converted
    from estimator.cli.output import save, write
    from estimator.units import format_bytes, format_si

    conversion = converted(source, tuple(input_ or ()))
    if output is None:
        write(sys.stdout, conversion.text)
    else:
        save(output, conversion.text)
        write(sys.stdout, f"wrote {output}\nnext: estimator layers {output}\n")
    for gap in conversion.gaps:
        figures = f"{format_si(gap.flops, 'FLOPs')}, {format_bytes(gap.bytes)} moved"
        write(sys.stderr, f"{gap.path}: {gap.function} is no layer of ours, kept as Custom ({figures})\n")
    if conversion.note:
        write(sys.stderr, f"note: {conversion.note}\n")
