"""Images for the loader probe: finding them in a folder, making them, reading and decoding one."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from estimator.errors import InputError, MeasurementError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm"})
_MOST = 4096
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TRUE_COLOUR = 2  # PNG's colour type of three bytes a pixel


def find_images(folder: Path) -> tuple[Path, ...]:
    """Return the image files below a folder, the first few thousand; InputError where there are none."""
    if not folder.is_dir():
        raise InputError(f"--data: {str(folder)!r} is not a folder", hint="name a folder of images")
    found = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _SUFFIXES and path.is_file():
            found.append(path)
            if len(found) == _MOST:
                break
    if not found:
        raise InputError(
            f"--data: no images below {str(folder)!r}", hint=f"looked for {', '.join(sorted(_SUFFIXES))}"
        )
    return tuple(found)


def make_images(folder: Path, count: int, size: tuple[int, int]) -> tuple[Path, ...]:
    """Write images of random gradients as PNG: about as large and as hard to decode as photographs."""
    generator = np.random.default_rng(0)
    paths = []
    for number in range(count):
        coarse = generator.integers(0, 256, (size[0] // 8 + 1, size[1] // 8 + 1, 3), dtype=np.uint8)
        smooth = np.repeat(np.repeat(coarse, 8, 0), 8, 1)[: size[0], : size[1]]
        noise = generator.integers(0, 16, smooth.shape, dtype=np.uint8)
        path = folder / f"image{number:04d}.png"
        path.write_bytes(encode_png(smooth // 2 + noise))
        paths.append(path)
    return tuple(paths)


def encode_png(pixels: Pixels) -> bytes:
    """Return ``(H, W, 3)`` as PNG without filters."""
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _TRUE_COLOUR, 0, 0, 0)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], 1)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def decode_png(data: bytes) -> Pixels:
    """Return the pixels of a PNG that ``encode_png`` wrote."""
    place, width, height, packed = len(_SIGNATURE), 0, 0, b""
    while place < len(data):
        (length,), kind = struct.unpack(">I", data[place : place + 4]), data[place + 4 : place + 8]
        body = data[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            packed += body
        place += 12 + length
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    return rows[:, 1:].reshape(height, width, 3)


def can_decode(path: Path, *, own: bool) -> bool:
    """Tell whether an image can be decoded here: an own one always, others by Pillow."""
    if own:
        return True
    from importlib.util import find_spec

    return find_spec("PIL") is not None and path.suffix.lower() in _SUFFIXES


def load_image(path: Path, size: tuple[int, int], *, own: bool) -> NDArray[np.float32]:
    """Read, decode, resize and normalise one image as training code does: ``(3, H, W)``.

    Raises MeasurementError that names a file which cannot be read.
    """
    try:
        pixels = _pixels(path, size, own=own)
    except (OSError, ValueError, SyntaxError, struct.error, zlib.error) as error:
        raise MeasurementError(
            f"{path} cannot be read as an image: {error}", hint="leave it out, or mend it"
        ) from None
    scaled = pixels.astype(np.float32) / 127.5 - 1.0
    return np.ascontiguousarray(scaled.transpose(2, 0, 1))


def _pixels(path: Path, size: tuple[int, int], *, own: bool) -> Pixels:
    if own:
        return _resized(decode_png(path.read_bytes()), size)
    from PIL import Image

    with Image.open(path) as image:
        return np.asarray(image.convert("RGB").resize((size[1], size[0])), dtype=np.uint8)


def _resized(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    rows = np.linspace(0, pixels.shape[0] - 1, size[0]).astype(int)
    columns = np.linspace(0, pixels.shape[1] - 1, size[1]).astype(int)
    resized: Pixels = pixels[rows][:, columns]
    return resized
