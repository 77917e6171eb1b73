"""Where profiles lie: the bundled ones, the user's own folder, and what ESTIMATOR_PROFILES names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import estimator

VARIABLE = "ESTIMATOR_PROFILES"
SNAPSHOT = "devices/catalogue.json"


def bundled_root() -> Path:
    """Return the profiles folder: inside the installed package, or beside it in a checkout."""
    package = Path(estimator.__file__).resolve().parent
    inside = package / "profiles"
    return inside if inside.is_dir() else package.parent / "profiles"


def user_root() -> Path:
    """Return the user's own profiles folder by the platform's convention; it need not exist."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return base / "estimator" / "profiles"


def override_roots() -> tuple[Path, ...]:
    """Return the existing folders whose profiles go before the bundled ones, strongest first.

    First those in ESTIMATOR_PROFILES (separated as in PATH), then the user's own folder.
    """
    named = [Path(entry).expanduser() for entry in os.environ.get(VARIABLE, "").split(os.pathsep) if entry]
    return tuple(root for root in (*named, user_root()) if root.is_dir())


def profile_files(root: Path, folder: str) -> tuple[Path, ...]:
    """Return the YAML files of one kind of profile under a root, in alphabetical order."""
    return tuple(sorted((root / folder).glob("*.yaml")))
