"""``estimator convert``: networks in other formats to our YAML."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.guard import guarded
from estimator.errors import InputError

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


_OTHERS = frozenset({".json", ".toml", ".xml", ".csv", ".onnx", ".py"})


@guarded
def convert(source: Source, input_: Inputs = None, output: To = None) -> None:
    """Turn a network you have into YAML; nothing is downloaded and no weights are made.

    estimator convert hf:config.json -o mine.yaml
    """
    from estimator.app.conversion import convert as converted
    from estimator.cli.output import save, write
    from estimator.units import format_bytes, format_si

    if output is not None and output.suffix.lower() in _OTHERS:
        raise InputError(
            f"--output: what is written is YAML, and {output} says it is not", hint=_named(output)
        )
    conversion = converted(source, tuple(input_ or ()))
    if output is None:
        write(sys.stdout, conversion.text)
    else:
        save(output, conversion.text)
        write(sys.stdout, f"wrote {output}\nnext: estimator layers {output}\n")
    for gap in conversion.gaps:
        figures = f"{format_si(gap.flops, 'FLOPs')}, {format_bytes(gap.bytes)} moved"
        write(sys.stderr, f"{gap.place}: {gap.function} is no layer of ours, kept as Custom ({figures})\n")
        if gap.unknown:
            write(
                sys.stderr,
                f"warning: {gap.place}: {gap.unknown} not known; counted is one operation for each element "
                "that comes out: write what you know into the file\n",
            )
    for note in conversion.notes:
        write(sys.stderr, f"note: {note}\n")


def _named(output: Path) -> str:
    return f"write to {output.with_suffix('.yaml')}"
