"""Profiles of one's own: checked with file, line and column, found before the bundled ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from estimator.catalog import store
from estimator.catalog.browse import add_profile, built_in_of, list_devices
from estimator.catalog.check import check_profile
from estimator.catalog.lookup import load_device
from estimator.errors import InputError
from estimator.hardware.architecture import DeviceKind
from estimator.precision import DType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GOOD = """\
format: 1
id: my-card
name: My Card
vendor: nvidia
kind: gpu
architecture: ada-geforce
units: 100
boost_clock_mhz: 2000
memory_gib: 20
memory_bus_bits: 320
memory_gbit_per_s_per_pin: 20
aliases: [the card]
datasheet_peaks_tflops: {fp32_vector: 51.2}
sources:
  default: {source: measured by me, basis: measured elsewhere}
"""


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "card.yaml"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(store.VARIABLE, raising=False)
    yield
    from estimator.catalog.catalogue import forget_catalogue

    forget_catalogue()


def test_a_good_profile_has_no_errors(profile: Path) -> None:
    profile.write_text(GOOD)
    assert check_profile(profile) == ()


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "message"),
    [
        ("units: 100", "units: 0", 7, 8, "units is 0, which no device has"),
        ("units: 100", "units: many", 7, 8, "units must be a number"),
        ("units: 100", "unit: 100\nunits: 100", 7, 1, "unknown key 'unit'"),
        ("units: 100", "units: 100.5", 7, 8, "must be a whole number"),
        ("boost_clock_mhz: 2000", "boost_clock_mhz: 2.0", 8, 18, "which no device has"),
        ("kind: gpu", "kind: tpu", 5, 7, "kind cannot be 'tpu'"),
        ("architecture: ada-geforce", "architecture: ada-geforc", 6, 15, "unknown architecture"),
        ("architecture: ada-geforce", "architecture: zen4", 6, 15, "is no gpu architecture"),
        ("fp32_vector: 51.2", "fp32_vector: 102.4", 13, 25, "51.2 by units and clock"),
        ("aliases: [the card]", "aliases: [RTX 4090]", 12, 10, "also names rtx-4090"),
        ("aliases: [the card]", "aliases: [a1, a1]", 12, 15, "twice"),
        ("basis: measured elsewhere", "basis: hearsay", 15, 44, "basis cannot be 'hearsay'"),
        (
            "  default: {source: measured by me, basis: measured elsewhere}",
            "  units: t4-datasheet",
            13,
            25,
            "",
        ),
        ("name: My Card\n", "", 1, 1, "needs 'name'"),
        ("memory_gbit_per_s_per_pin: 20\n", "", 7, 8, "needs the transfer rate"),
        ("boost_clock_mhz: 2000\n", "", 7, 8, "needs boost_clock_mhz"),
        ("format: 1", "format: 2", 1, 9, "format is 2"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(  # noqa: PLR0917 - the columns of the table
    profile: Path, old: str, new: str, line: int, column: int, message: str
) -> None:
    assert old in GOOD
    profile.write_text(GOOD.replace(old, new))
    errors = check_profile(profile)
    places = [(error.at.line, error.at.column) for error in errors if error.at]
    assert (line, column) in places
    assert any(message in error.message for error in errors)
    assert all(error.at and error.at.file == str(profile) for error in errors)


def test_all_errors_of_a_file_come_at_once(profile: Path) -> None:
    profile.write_text(GOOD.replace("units: 100", "units: 0").replace("kind: gpu", "kind: x"))
    assert len(check_profile(profile)) == 2


def test_a_hint_says_what_to_write(profile: Path) -> None:
    profile.write_text(GOOD.replace("units:", "unitz:"))
    assert any(error.hint == "did you mean 'units'?" for error in check_profile(profile)) or any(
        "no hardware profile" in error.message for error in check_profile(profile)
    )


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: b: c", "just text", "id: x\nid: y"])
def test_other_texts_are_refused(profile: Path, text: str) -> None:
    profile.write_text(text)
    assert check_profile(profile)


def test_a_missing_file_is_an_error_not_a_traceback(tmp_path: Path) -> None:
    (error,) = check_profile(tmp_path / "none.yaml")
    assert "cannot read" in error.message


def test_a_profile_in_a_named_folder_is_found_and_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine" / "devices"
    folder.mkdir(parents=True)
    (folder / "my-card.yaml").write_text(GOOD)
    (folder / "t4.yaml").write_text(
        GOOD.replace("id: my-card", "id: t4").replace("[the card]", "[T4]").replace("My Card", "My T4")
    )
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "mine"))
    assert load_device("the card").bandwidth_bytes_per_s == pytest.approx(800e9)
    assert load_device("T4").units == 100
    monkeypatch.delenv(store.VARIABLE)
    assert load_device("T4").units == 40


def test_a_wrong_profile_in_the_folder_is_an_error_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine" / "devices"
    folder.mkdir(parents=True)
    (folder / "bad.yaml").write_text(GOOD.replace("units: 100", "units: 0"))
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "mine"))
    with pytest.raises(InputError, match=r"bad\.yaml:7:8"):
        load_device("T4")


def test_add_puts_a_profile_into_the_user_folder(profile: Path) -> None:
    profile.write_text(GOOD)
    target = add_profile(profile)
    assert target.is_file()
    assert load_device("my card").units == 100
    with pytest.raises(InputError, match="exists already"):
        add_profile(profile)
    profile.write_text(GOOD.replace("memory_gib: 20", "memory_gib: 24"))
    add_profile(profile, replace=True)
    assert load_device("my card").memory_bytes == 24 * 2**30


def test_add_knows_that_it_stands_in_for_a_built_in_one(profile: Path) -> None:
    profile.write_text(GOOD)
    assert built_in_of(add_profile(profile)) is None
    other = GOOD.replace("id: my-card", "id: t4").replace("My Card", "My T4").replace("[the card]", "[T4]")
    profile.write_text(other)
    assert built_in_of(add_profile(profile)) == "t4"


def test_add_refuses_a_wrong_profile(profile: Path) -> None:
    profile.write_text(GOOD.replace("units: 100", "units: 0"))
    with pytest.raises(InputError, match="which no device has"):
        add_profile(profile)


def test_list_filters_and_sorts() -> None:
    big = list_devices(vendor="NVIDIA", kind=DeviceKind.GPU, min_memory_bytes=80 * 2**30, sort="memory")
    assert big[0].memory_bytes is not None
    assert all(device.vendor == "nvidia" for device in big)
    sizes = [device.memory_bytes or 0 for device in big]
    assert sizes == sorted(sizes, reverse=True)
    assert {"h100-sxm", "a100-sxm-80gb", "b200"} <= {device.id for device in big}
    assert all(device.released and device.released.startswith("2022") for device in list_devices(year=2022))
    assert [device.id for device in list_devices(text="titan xp")] == ["titan-xp"]


def test_unknown_values_sort_last() -> None:
    devices = list_devices(sort="power")
    known = [device.power_limit_w is not None for device in devices]
    assert known == sorted(known, reverse=True)


@pytest.mark.parametrize("wrong", [{"sort": "colour"}, {"vendor": "nvidea"}])
def test_wrong_filters_are_errors(wrong: dict[str, str]) -> None:
    with pytest.raises(InputError):
        list_devices(**wrong)  # type: ignore[arg-type]


def test_every_sort_key_works() -> None:
    from estimator.catalog.browse import SORT_KEYS

    for key in SORT_KEYS:
        assert len(list_devices(sort=key)) == len(list_devices())
    best = list_devices(sort="fp16", form_factor="desktop")[0]
    assert best.peaks.best(DType.FP16) is not None
