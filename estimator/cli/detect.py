"""``estimator detect``: what is in this machine."""

from __future__ import annotations

from estimator.cli.guard import guarded
from estimator.cli.options import FormatName, Output, Root


@guarded
def detect(root: Root = None, format_name: FormatName = None, output: Output = None) -> None:
    """Show this machine's CPU and GPUs: cores, lanes, clocks, caches, memory, dense peaks by precision.

    estimator detect --format json
    """
    from estimator.app.detection import detection_result
    from estimator.cli.host import host_facts
    from estimator.cli.output import emit
    from estimator.report.screens.detection import detection_screen

    result = detection_result(host_facts(root))
    emit(result, lambda: detection_screen(result), format_name=format_name, output=output)
