"""The shipped archive of torchvision's and timm's architectures: names, and the YAML of one of them."""

from __future__ import annotations

import csv
import io
from functools import cache
from typing import TYPE_CHECKING

from estimator.catalog.store import bundled_root
from estimator.catalog.text_files import SourceText
from estimator.errors import InputError, suggestion

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Mapping
    from pathlib import Path

PACKAGES = ("torchvision", "timm")  # a name without a package is looked for in this order
SOURCES = {
    "torchvision": "https://github.com/pytorch/vision",
    "timm": "https://github.com/huggingface/pytorch-image-models",
}
_FOLDER = ("networks", "converted")


def _folder() -> Path:
    return bundled_root().joinpath(*_FOLDER)


@cache
def _archive() -> zipfile.ZipFile:
    """Return the open archive: its directory is read once, each network only when asked for."""
    import zipfile

    return zipfile.ZipFile(io.BytesIO((_folder() / "networks.zip").read_bytes()))


@cache
def _members() -> Mapping[str, str]:
    """Return the member of the archive by ``package:name``; none where the archive was left out."""
    if not (_folder() / "networks.zip").is_file():
        return {}
    return {name.removesuffix(".yaml").replace("/", ":", 1): name for name in _archive().namelist()}


@cache
def old_names() -> Mapping[str, str]:
    """Return the full name of each name that timm knew once (``swsl_resnet50``: ``timm:resnet50``)."""
    with (_folder() / "old_names.csv").open(newline="", encoding="utf-8") as file:
        return {row["old_name"]: row["name"] for row in csv.DictReader(file)}


def converted_names() -> tuple[str, ...]:
    """Return all names, as ``torchvision:resnet50`` and ``timm:resnet50``."""
    return tuple(sorted(_members()))


def find_converted(name: str) -> str | None:
    """Return the full name of ``timm:NAME``, ``torchvision:NAME`` or a bare ``NAME``, or None.

    Names that timm knew once are followed to what they are called today.
    """
    members = _members()
    if ":" in name:
        package, short = name.split(":", 1)
        found = name if package != "timm" or name in members else old_names().get(short)
    else:
        found = next((full for p in PACKAGES if (full := f"{p}:{name}") in members), old_names().get(name))
    return found if found in members else None


def converted_text(name: str) -> str:
    """Return a network's YAML. Raises InputError where the archive has no such name."""
    found = find_converted(name)
    if found is None:
        short = {full.split(":", 1)[1] for full in converted_names()}
        hint = suggestion(name, converted_names()) or suggestion(name.rsplit(":", 1)[-1], short)
        raise InputError(f"no converted network {name!r}", hint=hint)
    return _archive().read(_members()[found]).decode()


def converted_source(name: str) -> SourceText:
    """Return the same with the name that messages show."""
    return SourceText(text=converted_text(name), file=f"{find_converted(name)}.yaml")


def converted_index() -> tuple[dict[str, str], ...]:
    """Return a row for each architecture: counts, image size, what became Custom, and what failed and why."""
    with (_folder() / "index.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))
