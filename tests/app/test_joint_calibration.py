"""Runs on several devices: what they tell of a framework's release, and how far off they are unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from estimator.app.case_networks import open_network
from estimator.app.case_prediction import CasePredictor
from estimator.app.case_work import Works
from estimator.app.joint_calibration import JointRuns
from estimator.app.trust import ALIASES
from estimator.calibrate.case import interpret_all
from estimator.calibrate.cpu_rows import read_measurements
from estimator.calibrate.ranges import spreads_of
from estimator.calibrate.row_aliases import read_alias_tables
from estimator.catalog.calibration import load_calibration, load_prior
from estimator.catalog.store import bundled_root
from estimator.hardware.efficiency import Scale

SOURCES = ("BIGSCI176", "MEGATRON20", "MEGATRON21")


@pytest.fixture(scope="module")
def joint() -> JointRuns:
    """Return the shipped Megatron runs of 2020 to 2022, on 8 to thousands of A100 and V100."""
    aliases = read_alias_tables(bundled_root() / ALIASES)
    rows = read_measurements(bundled_root() / "measured" / "transformers_and_scaling.csv.gz")
    cases = interpret_all([row for row in rows if row.source_id in SOURCES], aliases)[0]
    works = Works(open_network, processes=1, keep=True)
    return JointRuns(predictor=CasePredictor(aliases, works, load_prior()), cases=cases)


def test_a_release_of_large_runs_is_told_by_them(joint: JointRuns) -> None:
    prior = load_prior()
    found = joint.finish(prior)
    changed = [(a, b) for a, b in zip(prior.software, found.software, strict=True) if a != b]
    ((before, after),) = changed
    assert (after.framework, after.until) == ("pytorch-megatron", 2022)
    assert after.provenance is not None
    assert "MEGATRON" in after.provenance.source
    assert after.rows >= 10
    assert (after.time, after.host_s) != (before.time, before.host_s)


def test_without_its_source_a_release_is_told_by_the_others(joint: JointRuns) -> None:
    prior = load_prior()
    known = joint.finish(prior)
    untouched = joint.finish_without(prior, known, lambda _case: False)
    assert [e.host_s for e in untouched.software] == [e.host_s for e in known.software]
    group = joint.group_of("source")
    assert group(joint.cases[0]) == "MEGATRON"
    blind = joint.finish_without(prior, known, lambda case: group(case) == "MEGATRON")
    sources = {
        e.provenance.source
        for e in blind.software
        if e.provenance and e.provenance.source.startswith("runs on")
    }
    assert sources == {"runs on several devices: BIGSCI"}
    nothing = joint.finish_without(prior, known, lambda _case: True)
    assert nothing == prior


def test_several_devices_have_a_range_of_their_own(joint: JointRuns) -> None:
    known = load_calibration()
    found = joint.residuals("source", frozenset({"MEGATRON", "BIGSCI"}), load_prior(), known)
    assert found
    assert {one.group for one in found} == {"MEGATRON", "BIGSCI"}
    many = [replace(one, group=f"{one.group}{number % 3}") for number, one in enumerate(found * 3)]
    assert spreads_of(many, "test")
    assert all(key.endswith("several") for key in spreads_of(many, "test"))


def test_an_architecture_that_ran_only_in_numbers_is_told_by_these_runs() -> None:
    sources = ("GAUDIPAGE", "HABANA")
    aliases = read_alias_tables(bundled_root() / ALIASES)
    rows = read_measurements(bundled_root() / "measured" / "transformers_and_scaling.csv.gz")
    cases = interpret_all([row for row in rows if row.source_id in sources], aliases)[0]
    prior = load_prior()
    runs = JointRuns(
        predictor=CasePredictor(aliases, Works(open_network, processes=1, keep=True), prior), cases=cases
    )
    found = runs.finish(prior)
    told = {key for key, scale in found.architectures.items() if scale != prior.architectures.get(key)}
    assert told == {"gaudi2", "gaudi3"}
    scale = found.architectures["gaudi3"]
    assert scale.rows >= 10
    assert scale.provenance is not None
    assert scale.provenance.source == "runs on several devices: HABANA"
    untouched = runs.finish_without(prior, found, lambda _case: False)
    assert untouched.architectures["gaudi3"].matrix == scale.matrix
    blind = runs.finish_without(prior, found, lambda _case: True)
    assert blind.architectures.get("gaudi3", Scale()).matrix == 1.0
