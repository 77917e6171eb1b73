"""The types a layer's arguments can have, as annotations that readers and schemas interpret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

LARGEST = 2**31 - 1  # of any one argument: a size no tensor dimension exceeds


@dataclass(frozen=True, slots=True)
class Range:
    """Inclusive bounds of a number, or of every number in a list."""

    low: float
    high: float = LARGEST


Positive: TypeAlias = Annotated[int, Range(1)]
NonNegative: TypeAlias = Annotated[int, Range(0)]
Depth: TypeAlias = Annotated[int, Range(1, 500)]  # layers within a layer type: deeper is a repeat's job
DepthOrNone: TypeAlias = Annotated[int, Range(0, 500)]
Dim: TypeAlias = Annotated[int, Range(-16, 16)]
Share: TypeAlias = Annotated[float, Range(0.0, 1.0)]
PositiveFloat: TypeAlias = Annotated[float, Range(1e-30, 1e30)]
AnyFloat: TypeAlias = Annotated[float, Range(-1e30, 1e30)]
Size: TypeAlias = Annotated[int | tuple[int, ...], Range(1)]
Offset: TypeAlias = Annotated[int | tuple[int, ...], Range(0)]
Sizes: TypeAlias = Annotated[tuple[int, ...], Range(1)]
SignedSizes: TypeAlias = Annotated[tuple[int, ...], Range(-LARGEST)]
Count: TypeAlias = Annotated[int, Range(0, 2**62)]
OptionalSize: TypeAlias = Annotated[int | tuple[int | None, ...] | None, Range(1)]
Scale: TypeAlias = Annotated[float | tuple[float, ...], Range(1e-6, 1e6)]
