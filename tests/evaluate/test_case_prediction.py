"""Cases predicted end to end: properties that hold whatever the coefficients are."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import estimator.layers
import estimator.networks
from estimator.app.case_layout import layout_of
from estimator.app.case_prediction import CasePredictor
from estimator.app.case_systems import system_of
from estimator.app.case_work import KERNEL_ERAS, Works, kernel_era
from estimator.app.evaluation import Prediction
from estimator.calibrate.case import Case, interpret
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.calibrate.rows import read_rows
from estimator.catalog.calibration import load_calibration
from estimator.catalog.lookup import load_device
from estimator.catalog.yaml_reader import read_document
from estimator.errors import InputError
from estimator.networks.language.read import read_network
from estimator.predict.layout import Parallelism
from estimator.predict.table import PHASES
from estimator.workload.kernel import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from estimator.calibrate.row_aliases import AliasTables
    from estimator.calibrate.rows import MeasuredRow
    from estimator.document import Value
    from estimator.networks.graph import Network

ROOT = Path(__file__).parents[2]
ROWS = read_rows(ROOT / "tests" / "golden" / "evaluate" / "rows.csv")
IMAGES = """
format: 1
name: small
family: small
params: {image: 32}
inputs: {image: {shape: [3, $image, $image]}}
layers:
  - {type: Conv2d, out_channels: 64, kernel_size: 3, padding: 1}
  - BatchNorm2d
  - ReLU
  - {type: AdaptiveAvgPool2d, output_size: 1}
  - Flatten
  - {type: Linear, out_features: 10}
loss: CrossEntropyLoss
"""


def open_small(name: str, overrides: Mapping[str, Value]) -> Network:
    if name == "nowhere":
        raise InputError("unknown network 'nowhere'")
    wanted = {key: value for key, value in overrides.items() if key == "image"}
    return read_network(read_document(IMAGES, "small.yaml"), overrides=wanted)


@pytest.fixture(scope="module")
def tables() -> AliasTables:
    return read_alias_tables(ROOT / "profiles" / "aliases")


@pytest.fixture(scope="module")
def predictor(tables: AliasTables) -> CasePredictor:
    return CasePredictor(tables, Works(open_small), load_calibration())


@pytest.fixture(scope="module")
def row() -> MeasuredRow:
    return replace(next(row for row in ROWS if row.source_id == "timm_train"), precision="fp32")


def predicted(predictor: CasePredictor, tables: AliasTables, *rows: MeasuredRow) -> list[Prediction]:
    cases = [interpret(row, tables) for row in rows]
    assert all(isinstance(case, Case) for case in cases), cases
    answers = predictor([case for case in cases if isinstance(case, Case)])
    assert all(isinstance(answer, Prediction) for answer in answers), answers
    return [answer for answer in answers if isinstance(answer, Prediction)]


def test_phases_add_up_and_a_larger_batch_takes_longer(
    predictor: CasePredictor, tables: AliasTables, row: MeasuredRow
) -> None:
    step, backward, twice = predicted(
        predictor,
        tables,
        row,
        replace(row, mode="forward_backward"),
        replace(row, batch_size="1024"),
    )
    assert backward.expected_s < step.expected_s < twice.expected_s < 2.01 * step.expected_s
    assert step.low_s < step.expected_s < step.high_s
    assert (step.family, step.device) == ("small", "rtx-3090")
    assert step.measured_s == pytest.approx(0.618983)


def test_a_batch_between_two_others_is_what_it_is_alone(tables: AliasTables, row: MeasuredRow) -> None:
    batches = [replace(row, batch_size=str(batch)) for batch in (64, 96, 256)]
    together = predicted(CasePredictor(tables, Works(open_small), load_calibration()), tables, *batches)
    alone = predicted(CasePredictor(tables, Works(open_small), load_calibration()), tables, batches[1])
    assert together[1].expected_s == pytest.approx(alone[0].expected_s, rel=1e-6)


def test_an_epoch_is_its_steps_and_its_validation(
    predictor: CasePredictor, tables: AliasTables, row: MeasuredRow
) -> None:
    notes = "50000 training samples/epoch"
    epoch = replace(row, mode="epoch", metric="s", batch_size="500", notes=notes)
    validated = replace(epoch, notes=f"{notes} + validation forward of 10000 samples INCLUDED")
    step, plain, more = predicted(
        predictor, tables, replace(row, batch_size="500", notes=""), epoch, validated
    )
    assert plain.expected_s == pytest.approx(100 * step.expected_s)
    assert plain.expected_s < more.expected_s < 1.2 * plain.expected_s


def test_several_devices_take_at_least_as_long_as_one(
    predictor: CasePredictor, tables: AliasTables, row: MeasuredRow
) -> None:
    one, four = predicted(predictor, tables, row, replace(row, devices=4, interconnect="PCIe 4.0"))
    assert one.expected_s < four.expected_s < 1.5 * one.expected_s


def test_what_cannot_be_predicted_says_why(
    predictor: CasePredictor, tables: AliasTables, row: MeasuredRow
) -> None:
    rows = [
        replace(row, device="Abacus 3000"),
        replace(row, framework="PyTorch", model="nowhere"),
        replace(row, precision="fp4"),
    ]
    cases = [case for case in (interpret(each, tables) for each in rows) if isinstance(case, Case)]
    unknown_device, unknown_network, unknown_precision = predictor(cases)
    assert unknown_device == "unknown device 'Abacus 3000'"
    assert unknown_network == "unknown network 'nowhere'"
    assert isinstance(unknown_precision, str)
    assert "fp4" in unknown_precision


def test_observations_are_usable_steps_of_one_device(
    predictor: CasePredictor, tables: AliasTables, row: MeasuredRow
) -> None:
    rows = [row, replace(row, devices=2), replace(row, notes="OUTLIER"), replace(row, device="Abacus")]
    cases = [case for case in (interpret(each, tables) for each in rows) if isinstance(case, Case)]
    ((seen, family),) = predictor.observe(cases)
    assert seen.seconds == pytest.approx(0.618983)
    assert (seen.source, family) == ("timm", "small")


def test_an_epoch_calibrates_a_cpu_only(
    predictor: CasePredictor, tables: AliasTables, row: MeasuredRow
) -> None:
    """A GPU's epoch waits for its input; a CPU's holds its validation, here an eighth more passes."""
    notes = "50000 training samples/epoch + validation forward of 6250 samples INCLUDED"
    epoch = replace(row, mode="epoch", metric="s", batch_size="500", notes=notes)
    on_cpu = replace(epoch, device="i7-5960x")
    cases = [case for case in (interpret(each, tables) for each in (epoch, on_cpu)) if isinstance(case, Case)]
    ((seen, _family),) = predictor.observe(cases)
    assert seen.device.id == "i7-5960x"
    assert seen.seconds == pytest.approx(row.value / 100)
    runs = seen.table.runs[seen.table.phase == PHASES.index(Phase.FORWARD)]
    assert (runs % 1).max() == pytest.approx(0.125)


def test_hosts_and_their_network(tables: AliasTables, row: MeasuredRow) -> None:
    several = replace(
        row,
        device="v100-sxm2-16gb",
        devices=32,
        num_nodes="4",
        interconnect="NVLink2 300GB/s + 4x100Gb IB EDR",
    )
    case = interpret(several, tables)
    assert isinstance(case, Case)
    system = system_of(case, tables).system
    assert (system.count, system.nodes) == (32, 4)
    assert system.within is not None
    assert system.between is not None
    assert (system.within.id, system.between.id) == ("nvlink2", "infiniband-edr")
    assert system.between.bus_bytes_per_s > 40e9


def test_a_layout_is_guessed_only_where_it_is_not_stated(tables: AliasTables) -> None:
    gpt3 = interpret(next(row for row in ROWS if "GPT-3" in row.model), tables)
    stated = interpret(next(row for row in ROWS if row.source_id == "VTRAIN_S"), tables)
    assert isinstance(gpt3, Case)
    assert isinstance(stated, Case)
    device = load_device("a100-sxm-40gb")
    guess = layout_of(gpt3, 175_000_000_000, device)
    assert guess.parallel.tensor == 8
    assert guess.parallel.data * guess.parallel.model_devices == 512
    assert len(guess.assumptions) == 2
    assert layout_of(stated, 300_000_000, device).parallel == Parallelism(data=1, tensor=2, pipeline=4)
    assert layout_of(stated, 300_000_000, device).assumptions == ()


def test_every_year_that_changes_kernels_is_told_apart() -> None:
    years = {
        value
        for package in (estimator.layers, estimator.networks)
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for name, value in vars(importlib.import_module(info.name)).items()
        if isinstance(value, int) and name.endswith(("_ERA", "_SINCE")) and name != "CURRENT_ERA"
    }
    assert years <= set(KERNEL_ERAS)
    assert [kernel_era(year) for year in (2015, 2022, 2024)] == [0, 2022, 2023]


def test_adapters_keep_no_state_for_the_weights_they_leave(tables: AliasTables) -> None:
    """Sixteen bytes a parameter of optimizer state and gradient fall away: a narrower layout holds it."""
    case = interpret(next(row for row in ROWS if "GPT-3" in row.model), tables)
    assert isinstance(case, Case)
    device = load_device("h100-sxm")
    whole = layout_of(case, 70_000_000_000, device).parallel
    adapter = layout_of(case, 70_000_000_000, device, frozen=69_900_000_000).parallel
    assert adapter.model_devices < whole.model_devices
