"""The use case of ``estimator convert``: other people's formats to our YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.catalog.converted import PACKAGES, converted_text, find_converted
from estimator.convert.sources import Conversion, convert_source

if TYPE_CHECKING:
    from collections.abc import Sequence


def convert(source: str, inputs: Sequence[str]) -> Conversion:
    """Return a source as YAML; torchvision's and timm's architectures come from the shipped archive.

    Raises InputError for what is not there, MissingPackageError where a package must read it.
    """
    kind, _, name = source.partition(":")
    if kind in PACKAGES and find_converted(source) is not None:
        return Conversion(name, converted_text(source))
    return convert_source(source, inputs)
