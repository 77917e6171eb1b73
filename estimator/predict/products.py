"""Tile and wave quantisation: how many FLOPs' worth of time a matrix product occupies the units for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Tile(NamedTuple):
    """An output tile (rows x columns) and the share of a unit's peak its inner loop reaches."""

    rows: int
    columns: int
    efficiency: float


MATRIX_TILES = (
    Tile(256, 128, 1.0), Tile(128, 128, 0.97), Tile(256, 64, 0.9), Tile(128, 64, 0.85), Tile(64, 64, 0.70),
    Tile(128, 32, 0.6), Tile(64, 32, 0.5), Tile(128, 16, 0.4),
)  # fmt: skip
VECTOR_TILES = (
    Tile(256, 128, 1.0), Tile(128, 128, 1.0), Tile(128, 64, 0.93), Tile(64, 64, 0.85), Tile(32, 32, 0.5),
    Tile(128, 8, 0.4), Tile(128, 1, 0.2),
)  # fmt: skip
MATRIX_DEPTH, VECTOR_DEPTH = 32, 8
MATRIX_CHANNELS, VECTOR_CHANNELS = 8, 1
_SPLIT_DEPTH = 128  # the least K one part of a split product keeps


def steps_deep(k: Floats, *, matrix: bool | NDArray[np.bool_]) -> Floats:
    """Return how deep a product is in an inner loop of whole steps: at least one step of it is run."""
    return np.maximum(k, np.where(matrix, MATRIX_DEPTH, VECTOR_DEPTH))


def tile_flops(
    batch: Floats, m: Floats, n: Floats, k: Floats, units: Floats, *, matrix: bool
) -> NDArray[np.float64]:
    """Return ``(K, U)`` FLOPs that a device of each unit count could have done in the product's time.

    The work of the best tile, whole waves of it: a last wave that is part full costs half of what it
    wastes, as blocks do not start together. A product of fewer tiles than units is split along k.
    ``batch``, ``m``, ``n``, ``k`` have length K, ``units`` length U.
    """
    depth, channels = (MATRIX_DEPTH, MATRIX_CHANNELS) if matrix else (VECTOR_DEPTH, VECTOR_CHANNELS)
    k = np.ceil(k / depth) * depth
    m, n = (np.ceil(side / channels) * channels for side in (m, n))
    parts = np.maximum(1.0, np.floor(k / _SPLIT_DEPTH))[:, None]
    best = np.full((len(m), len(units)), np.inf)
    for tile in MATRIX_TILES if matrix else VECTOR_TILES:
        for rows, columns in {(tile.rows, tile.columns), (tile.columns, tile.rows)}:
            tiles = batch * np.ceil(m / rows) * np.ceil(n / columns)
            work = (2.0 * rows * columns / tile.efficiency) * k
            waves = tiles[:, None] / units
            split = np.clip(1.0 / waves, 1.0, parts)
            rounded = 0.5 * (np.ceil(waves) + np.maximum(waves, 1.0)) / split
            np.minimum(best, rounded * (work[:, None] * units), out=best)
    return best
