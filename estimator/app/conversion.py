"""The use case of ``estimator convert``: other people's formats to our YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.catalog.converted import PACKAGES, converted_text, find_converted
from estimator.catalog.networks import parse_network
from estimator.catalog.text_files import SourceText
from estimator.convert.sources import Conversion, convert_source
from estimator.errors import CombinedInputError, InputError, MissingPackageError
from estimator.networks.lowering import lower
from estimator.networks.training import Training

if TYPE_CHECKING:
    from collections.abc import Sequence


_SIZES = "look at the sizes in it: they contradict each other or are out of range"


def convert(source: str, inputs: Sequence[str]) -> Conversion:
    """Return a source as YAML; torchvision's and timm's architectures come from the shipped archive.

    What others made is read and counted once, so that nothing comes out that this program refuses. Raises
    InputError for what is not there or cannot be described, MissingPackageError where a package must read it.
    """
    kind, _, name = source.partition(":")
    if kind in PACKAGES and name:
        if find_converted(source) is not None:
            return Conversion(name, converted_text(source))
        return _with_package(source, inputs)
    made = convert_source(source, inputs)
    _check(made, source)
    return made


def _with_package(source: str, inputs: Sequence[str]) -> Conversion:
    """Convert an architecture that the archive lacks; without the package, suggest a name of the archive."""
    try:
        return convert_source(source, inputs)
    except MissingPackageError as missing:
        try:
            converted_text(source)
        except InputError as unknown:
            if unknown.hint:
                raise InputError(f"{unknown.message} is shipped", hint=unknown.hint) from None
        raise missing from None


def _check(made: Conversion, source: str) -> None:
    """Raise InputError where the text is no network of ours."""
    try:
        lower(parse_network(SourceText(text=made.text, file=source)), Training(batch=1))
    except InputError as error:
        errors = error.errors if isinstance(error, CombinedInputError) else (error,)
        said = "; ".join(dict.fromkeys(e.message for e in errors[:3]))
        raise InputError(
            f"{source}: what it describes cannot be a network: {said}",
            hint=_SIZES if source.partition(":")[0] in ("hf", "keras") else None,
        ) from None
