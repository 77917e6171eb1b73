"""Reports made once, on devices of the catalogue, for all tests of pages and plots."""

from __future__ import annotations

import datetime as dt
import io
from typing import TYPE_CHECKING, Protocol

import pytest

from estimator.app.report import report
from estimator.app.report_costs import Costs
from estimator.app.request import Request
from estimator.app.source import open_source
from estimator.app.systems import named_system
from estimator.catalog.calibration import load_calibration
from estimator.catalog.prices import load_prices
from estimator.report.html.page import render_html
from estimator.report.screens.report import report_screen

if TYPE_CHECKING:
    from estimator.results.report import ReportResult

HOSTILE_NAME = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>[go](javascript:alert(2))|*"
HOSTILE = f"""\
format: 1
name: '{HOSTILE_NAME.replace("'", "''")}'
inputs:
  image: {{shape: [1, 8, 8]}}
layers:
  - Flatten
  - {{type: Linear, out_features: 4}}
loss: CrossEntropyLoss
training: {{batch: 4, epochs: 1, samples: 100}}
"""


class MakeReport(Protocol):
    """Makes a report on networks of the zoo, or on the text of one."""

    def __call__(
        self, *networks: str, devices: tuple[str, ...], text: str = "", priced: bool = False
    ) -> ReportResult: ...


@pytest.fixture(scope="session")
def make_report() -> MakeReport:
    """Return a function that makes a report without the command line."""

    def make(*networks: str, devices: tuple[str, ...], text: str = "", priced: bool = False) -> ReportResult:
        costs = Costs(book=load_prices(), today=dt.date(2025, 6, 1), region="DEU") if priced else None
        pairs = [(Request(network=name), open_source(name, io.BytesIO(text.encode()))) for name in networks]
        systems = [named_system(device, count=None, link=None) for device in devices]
        return report(
            pairs,
            systems,
            load_calibration(),
            made_on="2026-01-31",
            command="estimator report lenet5",
            costs=costs,
        )

    return make


@pytest.fixture(scope="session")
def small_report(make_report: MakeReport) -> ReportResult:
    """Return a report on two networks and six devices, one of which is too small."""
    devices = ("i7-5960x", "gtx-1080-ti", "rtx-4090", "t4", "4x v100-sxm2-16gb", "a100-sxm-40gb")
    return make_report("lenet5", "resnet18", devices=devices, priced=True)


@pytest.fixture(scope="session")
def page(small_report: ReportResult) -> str:
    """Return the page of the small report."""
    return render_html(report_screen(small_report))


@pytest.fixture(scope="session")
def hostile_page(make_report: MakeReport) -> str:
    """Return the page of a network whose name is an attack."""
    return render_html(report_screen(make_report("-", devices=("t4",), text=HOSTILE)))
