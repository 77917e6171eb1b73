"""``estimator doctor``: a record of what detection read, to paste into a bug report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from estimator.cli.guard import guarded
from estimator.cli.host import Nvml
from estimator.cli.options import Root

To = Annotated[Path | None, typer.Option("--output", "-o", help="write it to a file")]


@guarded
def doctor(root: Root = None, nvml: Nvml = None, output: To = None) -> None:
    """Write what was read of this machine, without names, serial numbers and UUIDs.

    The record can be detected again: estimator detect --root record.yaml
    """
    from estimator.cli.output import save, write
    from estimator.detect.doctor import write_record
    from estimator.detect.recording import load_nvml

    text = write_record(root=root or Path("/"), nvml=load_nvml(nvml) if nvml else None)
    if output is None:
        write(sys.stdout, text)
    else:
        save(output, text)
