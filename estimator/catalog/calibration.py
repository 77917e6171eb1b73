"""The shipped calibration, read once from its JSON files."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.errors import InputError
from estimator.predict.coefficients import coefficients_from_mapping, coefficients_to_mapping

if TYPE_CHECKING:
    from estimator.hardware.efficiency import Calibration

PARTS = ("gpu", "cpu", "scales", "software", "spreads", "communication")
_PACKAGE = Path(__file__).resolve().parent.parent


def calibration_directory() -> Path:
    """Return where the shipped files are: inside the installed package, or beside it in a checkout."""
    installed = _PACKAGE / "profiles" / "calibration"
    return installed if installed.is_dir() else _PACKAGE.parent / "profiles" / "calibration"


@cache
def load_calibration(directory: Path | None = None) -> Calibration:
    """Return the calibration in ``directory`` (default: the shipped one)."""
    folder = directory or calibration_directory()
    parts = {name: _read(folder / f"{name}.json") for name in PARTS}
    scales = parts.pop("scales")
    communication = parts.pop("communication")
    return coefficients_from_mapping(
        parts
        | {key: scales.get(key, {}) for key in ("vendors", "architectures", "devices")}
        | {"software": parts["software"]["releases"], "communication": communication["data_parallel"]}
    )


def load_prior() -> Calibration:
    """Return what every fit starts from and is held to: physics and kernel benchmarks, no whole step.

    A fit that leaves a group out must start here: the shipped calibration has seen that group.
    """
    return load_calibration(calibration_directory() / "prior")


def calibration_texts(calibration: Calibration) -> dict[str, str]:
    """Return the content of each file of a calibration by its name; ``load_calibration`` reads it back.

    Equal calibrations give equal bytes.
    """
    data = coefficients_to_mapping(calibration)
    parts: dict[str, object] = {
        "gpu": data["gpu"],
        "cpu": data["cpu"],
        "scales": {key: data.get(key, {}) for key in ("vendors", "architectures", "devices")},
        "software": {"releases": data.get("software", [])},
        "spreads": data.get("spreads", {}),
        "communication": {"data_parallel": data["communication"]},
    }
    return {
        f"{name}.json": json.dumps(part, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        for name, part in parts.items()
    }


def _read(path: Path) -> Any:  # noqa: ANN401  (JSON)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such calibration file", hint="run estimator calibrate") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not JSON: {error}") from None
