from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.errors import InputError
from estimator.hardware.efficiency import Spread
from estimator.predict.coefficients import coefficients_from_mapping, coefficients_to_mapping
from estimator.predict.factors import software_factors
from estimator.predict.interval import Tier, half_width, tier_of
from estimator.software import Mode, Software

if TYPE_CHECKING:
    from estimator.hardware.device import Device
    from estimator.hardware.efficiency import Calibration


def test_a_calibration_survives_being_written_and_read(calibration: Calibration) -> None:
    assert coefficients_from_mapping(coefficients_to_mapping(calibration)) == calibration


def test_every_coefficient_has_a_source_and_is_bounded(calibration: Calibration) -> None:
    for name, regime in calibration.gpu.regimes.items():
        assert regime.provenance is not None, name
        assert 0 < regime.compute <= (2.5 if name.startswith("winograd") else 1.2), name
        assert 0 < regime.memory <= (4.0 if name == "transpose/vector" else 1.15), name
        assert regime.order in {1, 2, 4}, name
    for name, cpu in calibration.cpu.regimes.items():
        assert cpu.provenance is not None, name
        assert 0 < cpu.compute <= 1, name
        assert 0 < cpu.memory <= 1, name


def test_mistakes_are_named_with_their_place(calibration: Calibration) -> None:
    data = coefficients_to_mapping(calibration)
    data["gpu"]["regimes"]["conv/matrix"]["computee"] = 1
    with pytest.raises(InputError, match=r"gpu.regimes.conv/matrix: unknown coefficient 'computee'; did you"):
        coefficients_from_mapping(data)
    data = coefficients_to_mapping(calibration)
    data["gpu"]["launch_s"] = -1.0
    with pytest.raises(InputError, match="from 0 up"):
        coefficients_from_mapping(data)


def test_software_of_an_era_gets_the_factors_of_its_time(calibration: Calibration) -> None:
    old = software_factors(calibration, Software(framework="caffe", era=2012))
    new = software_factors(calibration, Software(framework="mxnet", era=2018))
    assert not old.winograd
    assert new.winograd
    assert old.lowered
    compiled = software_factors(calibration, Software(mode=Mode.COMPILED))
    assert compiled.host_s < software_factors(calibration, Software()).host_s


def test_ranges_grow_with_coverage_and_with_ignorance(calibration: Calibration, v100: Device) -> None:
    spread = Spread(tier="x", quantiles={0.5: 0.1, 0.8: 0.25})
    widths = [half_width(spread, c) for c in (0.2, 0.5, 0.8, 0.95, 0.99)]
    assert widths == sorted(widths)
    assert widths[1] == pytest.approx(0.1)
    assert widths[2] == pytest.approx(0.25)
    assert tier_of(v100, calibration) is Tier.NEW_ARCHITECTURE
    by_tier = [half_width(calibration.spreads[str(tier)], 0.8) for tier in Tier]
    assert by_tier == sorted(by_tier)
