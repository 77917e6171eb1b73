"""What more devices gain follows from exchange and batch, and is what predict says."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from estimator.app.here import Grounds
from estimator.app.prediction import predict_named
from estimator.app.request import Request, training_of
from estimator.app.scale import STRONG, WEAK, Ladder, scale
from estimator.app.source import open_network
from estimator.app.systems import named_system
from estimator.catalog.calibration import load_calibration
from estimator.catalog.lookup import load_device

if TYPE_CHECKING:
    from estimator.results.sweep import ScaleResult
    from tests.planning.conftest import Run

NOBODY = io.BytesIO()


def scaled(ladder: Ladder, *, network: str = "vgg16", batch: int = 64) -> ScaleResult:
    described = open_network(network, (), NOBODY)
    request = Request(network=network, batch=batch)
    grounds = Grounds(device=load_device("v100-sxm2-16gb"), calibration=load_calibration())
    return scale(described, request, grounds, ladder)


def test_weak_scaling_is_what_predict_says_of_each_number() -> None:
    result = scaled(Ladder(counts=(1, 4), kinds=(WEAK,)))
    described = open_network("vgg16", (), NOBODY)
    for point in result.points:
        request = Request(network="vgg16", batch=64)
        system = named_system("v100-sxm2-16gb", count=point.devices, link=None)
        training = training_of(request, described.training)
        (one,), _ = predict_named(described.network, request, training, [system], load_calibration())
        assert point.samples_per_s == pytest.approx(one.step.samples_per_s)


def test_efficiency_is_below_one_and_lower_on_slower_links() -> None:
    result = scaled(Ladder(counts=(1, 2, 4, 8), links=("nvlink2", "pcie3"), kinds=(WEAK,)))
    by_link = {link: [p.efficiency for p in result.points if p.link == link] for link in _links(result)}
    fast, slow = by_link.values()
    assert fast[0] == slow[0] == 1.0
    assert all(0.5 < efficiency < 1 for efficiency in fast[1:])
    assert all(f > s for f, s in zip(fast[1:], slow[1:], strict=True))


def _links(result: ScaleResult) -> list[str | None]:
    return list(dict.fromkeys(p.link for p in result.points))


def test_strong_scaling_keeps_the_global_batch_and_leaves_out_what_does_not_divide_it() -> None:
    result = scaled(Ladder(counts=(1, 3, 4), kinds=(STRONG,)))
    assert [p.devices for p in result.points] == [1, 4]
    assert {p.global_batch for p in result.points} == {64}
    assert any("cannot be split evenly over 3" in warning for warning in result.warnings)


def test_more_than_a_node_holds_is_several_nodes_on_another_link() -> None:
    result = scaled(Ladder(counts=(8, 16, 32), kinds=(WEAK,), between="ethernet-10g"))
    assert [p.nodes for p in result.points] == [1, 2, 4]
    assert result.points[0].between is None
    assert result.points[2].exchange_s > 5 * result.points[0].exchange_s


def test_one_device_a_node_is_joined_by_the_link_that_is_named(run: Run) -> None:
    asked = ("scale", "resnet18", "-d", "i7-5960x", "-n", "1,2", "--weak", "-f", "json")
    slow, fast = (
        json.loads(run(*asked, "--link", link).output)["points"][1]["exchange_s"]
        for link in ("ethernet-10g", "infiniband-hdr")
    )
    assert slow > 5 * fast
    wrong = run("scale", "resnet18", "-d", "i7-5960x", "-n", "1,2", "--link", "nosuch")
    assert wrong.exit_code == 2


def test_screen_and_mistakes(run: Run) -> None:
    shown = run("scale", "resnet18", "-d", "v100-sxm2-16gb", "-n", "1..16*2")
    assert shown.exit_code == 0
    assert shown.output.startswith("resnet18: 16x V100-SXM2-16GB train ")
    assert "strong scaling" in shown.output
    for arguments, said in (
        (("-n", "0"), "from 1"),
        (("-n", "1,2", "--link", "nvlinc2"), "did you mean"),
        (
            (
                "-n",
                "12",
            ),
            "cannot be spread evenly",
        ),
    ):
        wrong = run("scale", "resnet18", "-d", "v100-sxm2-16gb", *arguments)
        assert wrong.exit_code == 2, wrong.output
        assert said in wrong.output
